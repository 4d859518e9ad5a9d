"""The settings of back ends beside stock NCCL and gloo: torch's hooks, Intel, Ascend, Cambricon, torchcomms, ours."""

from __future__ import annotations

from recorder.setup.variable import Variable, row

PLUGIN_VARIABLES: tuple[Variable, ...] = (
    # torch's recorder for back ends with hooks, and nccl2; stock NCCL reads only the second name.
    row(
        "hook_dump_on_timeout",
        "bool",
        "TORCH_FR_DUMP_ON_TIMEOUT@2.15 TORCH_NCCL_DUMP_ON_TIMEOUT@2.15",
        "true@2.15",
        "as TORCH_NCCL_DUMP_ON_TIMEOUT, for back ends that torch records through hooks",
        ("hooks",),
    ),
    row(
        "hook_dump_wait_ms",
        "int",
        "TORCH_FR_WAIT_TIMEOUT_DUMP_MILSEC@2.15 TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC@2.15",
        "15000@2.15",
        "as TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC, for back ends that torch records through hooks",
        ("hooks",),
    ),
    row(
        "xccl_pipe_file",
        "path",
        "TORCH_FR_DEBUG_INFO_PIPE_FILE@2.8",
        "@2.8",
        "TORCH_NCCL_DEBUG_INFO_PIPE_FILE on Intel XPUs",
        ("xccl",),
    ),
    # Ascend's and Cambricon's plugins carry their own releases; the first with a recorder is not known.
    row(
        "hccl_buffer_size", "int", "TORCH_HCCL_TRACE_BUFFER_SIZE@2.2", "0@2.2", "entries kept on Ascend NPUs", ("hccl",)
    ),
    row(
        "hccl_dump_prefix",
        "path",
        "TORCH_HCCL_DEBUG_INFO_TEMP_FILE@2.2",
        "/tmp/hccl_trace_rank_@2.2",
        "where the files of Ascend NPUs go",
        ("hccl",),
    ),
    row(
        "hccl_dump_on_timeout",
        "bool",
        "TORCH_HCCL_DUMP_ON_TIMEOUT@2.2",
        "false@2.2",
        "dump on a timeout on Ascend NPUs",
        ("hccl",),
    ),
    row(
        "hccl_monitoring",
        "bool",
        "TORCH_HCCL_ENABLE_MONITORING@2.2",
        "false@2.2",
        "dump when the watchdog thread hangs on Ascend NPUs",
        ("hccl",),
    ),
    row(
        "cncl_buffer_size",
        "int",
        "TORCH_CNCL_TRACE_BUFFER_SIZE@2.2 TORCH_NCCL_TRACE_BUFFER_SIZE@2.2",
        "0@2.2",
        "entries kept on Cambricon MLUs",
        ("cncl",),
    ),
    row(
        "torchcomms_buffer_size",
        "int",
        "TORCHCOMM_FR_BUFFER_SIZE@2.8",
        "2000@2.8",
        "entries that torchcomms keeps",
        ("torchcomms",),
    ),
    row(
        "torchcomms_cpp_stack",
        "bool",
        "TORCHCOMM_FR_CPP_STACK@2.8",
        "false@2.8",
        "C++ frames in torchcomms' records",
        ("torchcomms",),
    ),
    row(
        "torchcomms_dump_prefix",
        "path",
        "TORCHCOMM_FR_DUMP_TEMP_FILE@2.8",
        "@2.8",
        "where torchcomms' files go; the rank is appended",
        ("torchcomms",),
    ),
    row(
        "torchcomms_dynamic_file_name",
        "bool",
        "TORCHCOMM_FR_DUMP_DYNAMIC_FILE_NAME@2.8",
        "false@2.8",
        "as TORCH_FR_DUMP_DYNAMIC_FILE_NAME, in torchcomms",
        ("torchcomms",),
    ),
    row("recorder", "word", "RECORDER@2.2", "0@2.2", "switch this package's recorder on", ("recorder",)),
)
