"""Every environment variable that decides what torch's Flight Recorder keeps and writes, release by release.

Sources: the headers `FlightRecorder.hpp`, `ProcessGroupNCCL.hpp` and `Utils.hpp` of torch 2.2 to
2.14; `ProcessGroupNCCL.cpp`, `FlightRecorder.cpp` and `cpp_stacktraces.cpp` of several releases. Where the release
of a change is not certain, the comment says so.
"""

from __future__ import annotations

from recorder.setup.plugin_variables import PLUGIN_VARIABLES
from recorder.setup.variable import Variable, row

_ALL = ("nccl", "gloo", "xccl")

VARIABLES: tuple[Variable, ...] = (
    # PR 172843 made 2000 the default of the recorder.
    row(
        "buffer_size",
        "int",
        "TORCH_FR_BUFFER_SIZE@2.8 TORCH_NCCL_TRACE_BUFFER_SIZE@2.2",
        "0@2.2 2000@2.11",
        "how many calls each rank keeps (entries, not bytes); 0 records nothing",
        _ALL,
    ),
    # ProcessGroupNCCL asks only this name before it dumps what the recorder kept under either; seen in 2.8 to 2.13.
    row(
        "nccl_buffer_size",
        "int",
        "TORCH_NCCL_TRACE_BUFFER_SIZE@2.2",
        "0@2.2 2000@2.8",
        "0 under this name keeps NCCL from dumping, whatever TORCH_FR_BUFFER_SIZE says",
    ),
    # PR 143446 made true the default.
    row(
        "dump_on_timeout",
        "bool",
        "TORCH_NCCL_DUMP_ON_TIMEOUT@2.2",
        "false@2.2 true@2.7",
        "write one file per rank when a call times out or fails",
    ),
    row(
        "dump_prefix",
        "path",
        "TORCH_FR_DUMP_TEMP_FILE@2.8 TORCH_NCCL_DEBUG_INFO_TEMP_FILE@2.2",
        "@2.2",  # a path that depends on HOME: `settings.default_prefix`
        "where the files go; the rank is appended to it, torch makes no folder",
        _ALL,
    ),
    row(
        "cpp_stack",
        "bool",
        "TORCH_FR_CPP_STACK@2.8 TORCH_NCCL_TRACE_CPP_STACK@2.2",
        "false@2.2",
        "keep C++ frames too; makes records and dumps larger and slower",
        _ALL,
    ),
    row(
        "timing",
        "bool",
        "TORCH_NCCL_ENABLE_TIMING@2.2 NCCL_ENABLE_TIMING@2.2",
        "false@2.2",
        "record when each call starts on the GPU, and so its duration; costs some CPU",
    ),
    row(
        "dynamic_file_name",
        "bool",
        "TORCH_FR_DUMP_DYNAMIC_FILE_NAME@2.10",
        "false@2.10",
        "read the prefix again at each dump and use it as the whole name, without the rank",
        _ALL,
    ),
    row(
        "extra_dump",
        "bool",
        "TORCH_NCCL_EXTRA_DUMP_ON_EXEC@2.10",
        "false@2.10",
        "dump on any exception too; a later dump overwrites an earlier one",
    ),
    row(
        "include_stacks",
        "bool",
        "TORCH_INCLUDE_STACK_TRACE@2.10",
        "true@2.10",
        "stacks in the dump on a timeout",
    ),
    row(
        "only_active",
        "bool",
        "TORCH_INCLUDE_ONLY_ACTIVE@2.10",
        "false@2.10",
        "leave finished calls out of the dump",
    ),
    # Off in 2.2 is not certain. Up to 2.3 the thread that dumps was not started without it.
    row(
        "monitoring",
        "bool",
        "TORCH_NCCL_ENABLE_MONITORING@2.2",
        "false@2.2 true@2.3",
        "end a process whose watchdog thread hangs; before 2.4, run the thread that dumps at all",
    ),
    # The release in which 600 became 480 is not certain: seen 600 in 2.4, 480 in 2.6.
    row(
        "heartbeat_sec",
        "int",
        "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC@2.2",
        "120@2.2 600@2.3 480@2.5",
        "seconds without a heartbeat after which the watchdog thread counts as hung",
    ),
    row(
        "coord_check_ms",
        "int",
        "TORCH_NCCL_COORD_CHECK_MILSEC@2.3",
        "1000@2.3",
        "how often each rank asks the store whether another wants a dump, in milliseconds",
    ),
    # The release of 15000 is not certain: seen 60000 in 2.6, 15000 in 2.8.
    row(
        "dump_wait_ms",
        "int",
        "TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC@2.3",
        "2000@2.3 60000@2.4 15000@2.7",
        "milliseconds for a dump with stacks, before one without stacks is tried",
    ),
    row(
        "pipe_file",
        "path",
        "TORCH_NCCL_DEBUG_INFO_PIPE_FILE@2.3",
        "@2.3",
        "each rank makes a named pipe <value><rank>.pipe; a byte written to it asks for a dump",
    ),
    row(
        "log_cpp_stack",
        "bool",
        "TORCH_NCCL_LOG_CPP_STACK_ON_UNCLEAN_SHUTDOWN@2.5",
        "true@2.5",
        "print C++ stacks to the log on an unclean end; changes no dump",
    ),
    row(
        "propagate_error",
        "bool",
        "TORCH_NCCL_PROPAGATE_ERROR@2.7",
        "false@2.7",
        "tell the other ranks of an error through the store",
    ),
    row(
        "blocking_wait",
        "bool",
        "TORCH_NCCL_BLOCKING_WAIT@2.2 NCCL_BLOCKING_WAIT@2.2",
        "false@2.2",
        "wait on the CPU; then no watchdog thread runs, and nobody dumps",
    ),
    # torchrun sets 1 in each worker unless the variable is set.
    row(
        "async_error_handling",
        "int",
        "TORCH_NCCL_ASYNC_ERROR_HANDLING@2.2 NCCL_ASYNC_ERROR_HANDLING@2.2",
        "3@2.2",
        "what follows a timeout: 0 nothing, 1 abort and end, 2 abort, 3 end",
    ),
    row(
        "desync_debug",
        "bool",
        "TORCH_NCCL_DESYNC_DEBUG@2.2 NCCL_DESYNC_DEBUG@2.2",
        "false@2.2",
        "the older report of ranks out of step; switches timing on",
    ),
    # `cpp_stacktraces.cpp`: addr2line unless TORCH_DISABLE_ADDR2LINE is set. PR 123966 brought the mode.
    row(
        "symbolize_mode",
        "choice",
        "TORCH_SYMBOLIZE_MODE@2.4",
        "addr2line@2.4",
        "how C++ frames get their names; fast is the quick one with source lines",
        _ALL,
        ("dladdr", "addr2line", "fast"),
    ),
    row(
        "disable_addr2line",
        "flag",
        "TORCH_DISABLE_ADDR2LINE@2.2",
        "0@2.2",
        "names of C++ functions without source lines, quickly, where TORCH_SYMBOLIZE_MODE is not set",
        _ALL,
    ),
    row(
        "distributed_debug",
        "choice",
        "TORCH_DISTRIBUTED_DEBUG@2.2",
        "OFF@2.2",
        "DETAIL switches timing on, and up to 2.6 the dump on a timeout",
        _ALL,
        ("OFF", "INFO", "DETAIL"),
    ),
    # `torch/__init__.py` compares with "1": true and yes switch it off.
    row(
        "backend_autoload",
        "flag",
        "TORCH_DEVICE_BACKEND_AUTOLOAD@2.5",
        "1@2.5",
        "0 keeps torch from loading installed extensions, this recorder among them",
        ("recorder",),
    ),
    *PLUGIN_VARIABLES,
)

BY_KEY: dict[str, Variable] = {variable.key: variable for variable in VARIABLES}

OTHER_NAMES = frozenset(
    f"TORCH_NCCL_{name}"
    for name in (
        "AVOID_RECORD_STREAMS",
        "BCAST_UNIQUEID",
        "CUDA_EVENT_CACHE",
        "HIGH_PRIORITY",
        "NAN_CHECK",
        "NONBLOCKING_TIMEOUT",
        "RANKS_PER_ROOT",
        "RETHROW_CUDA_ERRORS",
        "SHOW_EAGER_INIT_P2P_SERIALIZATION_WARNING",
        "USE_COMM_NONBLOCKING",
        "USE_TENSOR_REGISTER_ALLOCATOR_HOOK",
    )
)
"""Names that ProcessGroupNCCL reads for other purposes: not misspelt, not ours to judge."""
