import { suggest } from '../text/did-you-mean.ts'
import { redactUrl } from '../text/redact.ts'
import type { ValueType } from './value-type.ts'

/** Builds the error for a value that is not allowed; `hint` follows the value. */
type Reject = (hint?: string, cause?: unknown) => RangeError

export function single<T>(
  placeholder: string,
  allowed: string,
  read: (text: string, reject: Reject) => T,
): ValueType<T> {
  const parse = ([text = '']: readonly string[]): T =>
    read(text, (hint, cause) => notAllowed(allowed, text, hint, cause))
  return { kind: 'text', placeholder, allowed, parse }
}

/** A value type with several texts. */
export function list<T>(
  placeholder: string,
  allowed: string,
  parse: (texts: readonly string[]) => T,
): ValueType<T> {
  return { kind: 'list', placeholder, allowed, splitFlag: true, parse }
}

/** Any text, trimmed; may be empty. */
export function freeText(placeholder: string): ValueType<string> {
  return single(placeholder, 'text', (text) => text.trim())
}

/** Any nonempty texts. */
export function nonEmptyTexts(placeholder: string, allowed: string): ValueType<readonly string[]> {
  return list(placeholder, allowed, (texts) => {
    for (const text of texts) if (text.trim() === '') throw notAllowed(allowed, text)
    return texts
  })
}

/** One of `words`. */
export function oneOf<T extends string>(words: readonly T[], placeholder?: string): ValueType<T> {
  const allowed = `one of ${words.join(', ')}`
  return single(placeholder ?? words.join('|'), allowed, (text, reject) => {
    const found = words.find((word) => word === text.trim())
    if (found === undefined) throw reject(didYouMean(text, words))
    return found
  })
}

/** True or false. */
export const SWITCH: ValueType<boolean> = {
  ...single('true|false', 'true or false', (text, reject) => {
    const word = text.trim().toLowerCase()
    if (word === 'true' || word === 'on' || word === 'yes' || word === '1') return true
    if (word === 'false' || word === 'off' || word === 'no' || word === '0') return false
    throw reject()
  }),
  kind: 'switch',
}

/** Creates the error for a value that is not allowed. Passwords in URLs are redacted. */
export function notAllowed(
  allowed: string,
  text: string,
  hint: string = '',
  cause?: unknown,
): RangeError {
  return new RangeError(`must be ${allowed}, got ${JSON.stringify(redactUrl(text))}${hint}`, {
    cause,
  })
}

/** Returns a hint with the most similar of `words`; empty if none is similar. */
export function didYouMean(text: string, words: readonly string[]): string {
  const word = suggest(text.trim(), words)
  return word === undefined ? '' : `, did you mean ${word}?`
}

/** Returns the result of `check`. @throws {RangeError} with its message, phrased to follow the setting name. */
export function checkUrlSetting<T>(check: () => T): T {
  try {
    return check()
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new RangeError(`cannot be used: ${error.message}`, { cause: error })
  }
}

/** Runs a check and removes `subject` from the start of its message, since callers prefix the setting name. */
export function withoutSubject(subject: string, check: () => unknown): void {
  try {
    check()
  } catch (error) {
    const { message } = error as Error
    throw new RangeError(
      message.startsWith(`${subject} `) ? message.slice(subject.length + 1) : message,
      { cause: error },
    )
  }
}
