# Completion of shunt(1) for bash: commands and options as the program's own help has them, operators as it lists them.
_shunt_completions() {
  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} program=${COMP_WORDS[0]} part
  local commands=() operator='' started='' before=''
  COMPREPLY=()
  program=${program/#\~\//$HOME/}  # as typed: bash expands it only when it runs the line
  command -v -- "$program" >/dev/null || program=shunt
  case $previous in
    -l|--library|-r|--report|--trace|stats|graph) mapfile -t COMPREPLY < <(compgen -f -- "$word"); compopt -o filenames; return ;;
    -d|--directory|--cache) mapfile -t COMPREPLY < <(compgen -d -- "$word"); compopt -o filenames; return ;;
    --autocast) mapfile -t COMPREPLY < <(compgen -W 'bfloat16 float16' -- "$word"); return ;;
    --log) mapfile -t COMPREPLY < <(compgen -W 'error warning info debug' -- "$word"); return ;;
    --isa) mapfile -t COMPREPLY < <(compgen -W 'baseline v3 v4' -- "$word"); return ;;
    -a|--arg|--threads|--repeats) return ;;
  esac
  # The commands before the cursor: words that are no options, up to what a command takes.
  for part in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case ${commands[*]}/$part in
      /ops|/dump|/explain|/bench|/run|/profile|/stats|/graph|/info|/cache|cache/list|cache/verify|cache/clear)
        commands+=("$part") ;;
      dump/[!-]*|explain/[!-]*|bench/[!-]*) operator=$part ;;
      run/[!-]*|profile/[!-]*) [[ $before == @(-r|--report|--trace|--cache|--isa|--log|--threads) ]] || started=1 ;;
    esac
    before=$part
  done
  if [[ $word != -* && ( ${commands[*]} == run || ${commands[*]} == profile ) || $started ]]; then
    mapfile -t COMPREPLY < <([[ $started ]] || compgen -c -- "$word"; compgen -f -- "$word")
    compopt -o filenames
    return
  fi
  if [[ $word != -* && ! $operator && ${commands[*]} == @(dump|explain|bench) ]]; then
    # Without the namespace of the built-in operators, whose colons would end a word.
    mapfile -t COMPREPLY < <(compgen -W "$("$program" ops 2>/dev/null | sed -n 's/^aten:://p')" -- "$word")
    return
  fi
  local help
  help=$("$program" "${commands[@]}" --help 2>/dev/null) || return
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(grep -oE -e '(^| |,)--?[a-z][a-z-]*' <<<"$help" | tr -d ' ,' | sort -u)" -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -W "$(sed -n '/^Subcommands:/,$s/^  \([a-z]\+\) .*/\1/p' <<<"$help")" -- "$word")
  fi
}
complete -F _shunt_completions shunt
