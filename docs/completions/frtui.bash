# bash completion for frtui; made by docs/make.py
_frtui_files() {
    local IFS=$'\n'  # names may hold spaces
    COMPREPLY=($(compgen -f -- "$cur"))
}
_frtui() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= words='-h --help -p --prefix --attempt --debug --no-mouse --ascii --watch --version'
    case "${COMP_WORDS[1]}" in
        report|entries|export|compare|index|demo|env|doctor) ((COMP_CWORD > 1)) && command=${COMP_WORDS[1]} ;;
    esac
    case "$command $prev" in
        'report --format') COMPREPLY=($(compgen -W 'text markdown json html' -- "$cur")); return ;;
        'report -o') _frtui_files; return ;;
        'report --output') _frtui_files; return ;;
        'entries --format') COMPREPLY=($(compgen -W 'table json csv' -- "$cur")); return ;;
        'entries -o') _frtui_files; return ;;
        'entries --output') _frtui_files; return ;;
        'export --format') COMPREPLY=($(compgen -W 'perfetto csv parquet torch-db' -- "$cur")); return ;;
        'export -o') _frtui_files; return ;;
        'export --output') _frtui_files; return ;;
        'compare --format') COMPREPLY=($(compgen -W 'text json' -- "$cur")); return ;;
        'compare -o') _frtui_files; return ;;
        'compare --output') _frtui_files; return ;;
        'env --for') COMPREPLY=($(compgen -W 'bash fish slurm k8s torchrun' -- "$cur")); return ;;
        'doctor --env-file') _frtui_files; return ;;
    esac
    case "$command" in
        'report') words='-h --help --format --finding --scheduler --quick -o --output --ascii -p --prefix --attempt --debug' ;;
        'entries') words='-h --help --selected-ranks --pg-filters --stack --print_stack_trace --format -o --output --ascii -p --prefix --attempt --debug' ;;
        'export') words='-h --help --format --selected-ranks --pg-filters -o --output -p --prefix --attempt --debug' ;;
        'compare') words='-h --help --format -o --output --ascii -p --prefix --debug' ;;
        'index') words='-h --help --scheduler -p --prefix --attempt --debug' ;;
        'demo') words='-h --help --list --no-mouse --ascii' ;;
        'env') words='-h --help --torch --for --dir --buffer --cpp-stack --timing --recorder' ;;
        'doctor') words='-h --help --torch --env-file' ;;
    esac
    if [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$words" -- "$cur"))
        return
    fi
    case "$command" in
        demo) COMPREPLY=($(compgen -W 'tutorial idle loader deadlock' -- "$cur")); return ;;
    esac
    _frtui_files
    ((COMP_CWORD == 1)) && COMPREPLY+=($(compgen -W 'report entries export compare index demo env doctor' -- "$cur"))
}
complete -o filenames -F _frtui frtui
