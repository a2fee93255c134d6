/** Matches command lines that do not need a shell. */
const PLAIN = /^[\w@%+:,./-]+( +[\w@%+=:,./-]+)*$/

/**
 * Converts a command line to arguments, without a shell if possible, so that signals reach the
 * program itself.
 */
export function toCommand(line: string): readonly string[] {
  const text = line.trim()
  return PLAIN.test(text) ? text.split(/ +/) : toShell(text)
}

export function toShell(line: string): readonly string[] {
  return ['/bin/sh', '-c', line]
}
