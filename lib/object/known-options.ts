import { suggest } from '../text/did-you-mean.ts'
import { inspectShort } from '../text/inspect.ts'

/** The names of all options of a kind, as the compiler confirms. */
export type KnownOptions<Options> = Readonly<Record<keyof Options, true>>

/**
 * Refuses options nobody reads.
 *
 * @param what whose options they are, as errors call it.
 * @param isOpen whether the object may have members of its own: then only what looks misspelt is refused.
 * @throws {TypeError} naming an unknown one and what may have been meant, or what is there in place of options.
 */
export function rejectUnknownOptions(
  what: string,
  options: object,
  known: object,
  isOpen = false,
): void {
  if (typeof options !== 'object' || options === null)
    throw new TypeError(`${what}: options must be an object, got ${inspectShort(options)}`)
  for (const name in options) {
    if (Object.hasOwn(known, name)) continue
    const names = Object.keys(known)
    const meant = suggest(name, names)
    if (meant !== undefined)
      throw new TypeError(`${what}: unknown option ${name}, did you mean ${meant}?`)
    if (!isOpen) throw new TypeError(`${what}: unknown option ${name}; known: ${names.join(', ')}`)
  }
}
