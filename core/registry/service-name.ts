const MAX_LENGTH = 253
/** Parts joined by dots; each begins and ends with a letter or digit, dashes and underscores inside. */
const NAME = /^[A-Za-z0-9]+(?:(?:[-_]+|\.)[A-Za-z0-9]+)*$/

/**
 * Whether `name` can name a service: letters and digits, with single dots and any dashes and
 * underscores between them, at most 253 characters. What a path or `Host` may carry
 * besides (`..`, `%2e`, `__proto__`, blanks) names nothing.
 */
export function isServiceName(name: string): boolean {
  return name.length <= MAX_LENGTH && NAME.test(name)
}
