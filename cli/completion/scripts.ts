/** Completion scripts by shell. Each obtains its candidates from `mx __complete`. */
export const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `# mx completion bash: run or add to ~/.bashrc: source <(mx completion bash)
_mx() {
  local line="\${COMP_LINE:0:COMP_POINT}" words
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  mapfile -t COMPREPLY < <("\${words[0]}" __complete "\${words[@]:1}" 2> /dev/null)
  # Bash splits words at =.
  [[ \${words[-1]} == *=* ]] && COMPREPLY=("\${COMPREPLY[@]#*=}")
  if [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == *= ]]; then compopt -o nospace; fi
}
complete -o default -F _mx mx
`,
  zsh: `#compdef mx
# mx completion zsh: source <(mx completion zsh), or a file _mx in a folder of $fpath
_mx() {
  local -a candidates
  candidates=("\${(@f)$("\${words[1]}" __complete "\${(@)words[2,CURRENT]}" 2> /dev/null)}")
  candidates=(\${candidates:#})
  if (( \${#candidates} == 0 )); then _files; return; fi
  compadd -S '' -- \${(M)candidates:#*=}
  compadd -- \${candidates:#*=}
}
# As a file of $fpath, the script is the function itself.
if [[ \${funcstack[1]} == _mx ]]; then _mx "$@"; else compdef _mx mx; fi
`,
  fish: `# mx completion fish: mx completion fish | source, or a file ~/.config/fish/completions/mx.fish
complete -c mx -f -a '(mx __complete (commandline -opc)[2..-1] (commandline -ct) 2> /dev/null)'
complete -c mx -n '__fish_seen_subcommand_from run update store gen new' -F
`,
}
