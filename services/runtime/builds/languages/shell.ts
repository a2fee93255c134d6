/** Words that mean the same to a shell and without one. */
const PLAIN = /^[\w@%+:,./-]+( +[\w@%+=:,./-]+)*$/

/** The command that a line for a shell is: without a shell where it needs none, so that signals reach the program itself. */
export function toCommand(line: string): readonly string[] {
  const text = line.trim()
  return PLAIN.test(text) ? text.split(/ +/) : toShell(text)
}

export function toShell(line: string): readonly string[] {
  return ['/bin/sh', '-c', line]
}
