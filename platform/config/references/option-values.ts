import { Errors, type TSchema } from '../../../core/schema.ts'

/** Options with references as written in the file, by JSON pointer (RFC 6901). */
export type ReferencedOptions = ReadonlyMap<string, string>

interface Part {
  readonly properties?: Readonly<Record<string, Part>>
  readonly additionalProperties?: Part | boolean
  readonly patternProperties?: Readonly<Record<string, Part>>
  readonly items?: Part
  readonly anyOf?: readonly Part[]
}

/**
 * Converts options with references to the numbers and booleans that a schema expects. Other options
 * are unchanged.
 */
export function convertOptions(
  options: unknown,
  references: ReferencedOptions,
  schema: TSchema,
): unknown {
  return replaceOptions(options, references, (keys, text) => {
    const parts = keys.reduce(
      (found: Part[], key) => found.flatMap((each) => toParts(each, key)),
      [schema as Part],
    )
    const candidates = [text, toNumber(text), toBoolean(text)].filter((each) => each !== undefined)
    return candidates.find((each) => parts.some((part) => isValid(part, each))) ?? text
  })
}

/** Replaces options with references by the references, for display. */
export function displayOptions(options: object, references: ReferencedOptions): object {
  return replaceOptions(options, references, (_, __, display) => display)
}

function replaceOptions<T>(
  options: T,
  references: ReferencedOptions,
  replace: (keys: readonly string[], text: string, display: string) => unknown,
): T {
  if (references.size === 0) return options
  const copy = structuredClone(options)
  for (const [pointer, display] of references) {
    const keys = pointer.split('/').slice(1).map(decodeKey)
    const parent = keys
      .slice(0, -1)
      .reduce((each: unknown, key) => (each as Record<string, unknown>)[key], copy)
    const last = keys.at(-1)!
    const record = parent as Record<string, unknown>
    record[last] = replace(keys, String(record[last]), display)
  }
  return copy
}

/**
 * Returns the schemas of a property or an element. There may be several because of alternatives.
 */
function toParts(part: Part, key: string): Part[] {
  const { properties, additionalProperties, patternProperties, items, anyOf } = part
  const own =
    properties !== undefined && Object.hasOwn(properties, key)
      ? properties[key]
      : (items ??
        Object.values(patternProperties ?? {})[0] ??
        (typeof additionalProperties === 'object' ? additionalProperties : undefined))
  return [
    ...(own === undefined ? [] : [own]),
    ...(anyOf ?? []).flatMap((each) => toParts(each, key)),
  ]
}

function isValid(part: Part, value: unknown): boolean {
  return Errors(part as TSchema, value).length === 0
}

function toNumber(text: string): number | undefined {
  return /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : undefined
}

function toBoolean(text: string): boolean | undefined {
  return text === 'true' || text === 'false' ? text === 'true' : undefined
}

/** Encodes a key for a JSON pointer (RFC 6901 §3). */
export function encodeKey(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}

function decodeKey(key: string): string {
  return key.replaceAll('~1', '/').replaceAll('~0', '~')
}
