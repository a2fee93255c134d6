import { suggest } from '../text/did-you-mean.ts'
import { inspectShort } from '../text/inspect.ts'

/** All names of an options type, checked by the compiler. */
export type KnownOptions<Options> = Readonly<Record<keyof Options, true>>

/**
 * Rejects unknown options.
 *
 * @param label owner of the options, for errors.
 * @param isOpen whether further members are allowed, so that only misspelled ones are rejected.
 * @throws {TypeError} with the unknown option and a suggestion, or if the value is not an object.
 */
export function rejectUnknownOptions(
  label: string,
  options: object,
  known: object,
  isOpen = false,
): void {
  if (typeof options !== 'object' || options === null)
    throw new TypeError(`${label}: options must be an object, got ${inspectShort(options)}`)
  for (const name in options) {
    if (Object.hasOwn(known, name)) continue
    const names = Object.keys(known)
    const suggestion = suggest(name, names)
    if (suggestion !== undefined)
      throw new TypeError(`${label}: unknown option ${name}, did you mean ${suggestion}?`)
    if (!isOpen) throw new TypeError(`${label}: unknown option ${name}; known: ${names.join(', ')}`)
  }
}
