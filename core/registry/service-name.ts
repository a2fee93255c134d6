const MAX_LENGTH = 253
/** Parts joined by dots; each part starts and ends with a letter or digit and may contain dashes and underscores. */
const NAME = /^[A-Za-z0-9]+(?:(?:[-_]+|\.)[A-Za-z0-9]+)*$/

/**
 * True for a valid service name: letters and digits, with single dots, dashes and underscores in between, at most 253
 * characters. Other texts from a path or `Host` header (`..`, `%2e`, `__proto__`, spaces) are invalid.
 */
export function isServiceName(name: string): boolean {
  return name.length <= MAX_LENGTH && NAME.test(name)
}
