import type { TObject } from '../../core/schema.ts'
import { hasSecretPart, REDACTED, redactUserinfo, SECRET_NAME } from '../../lib/text/redact.ts'

interface Part {
  readonly writeOnly?: boolean
  readonly properties?: Readonly<Record<string, Part>>
  readonly items?: Part
}

/**
 * The options of a plugin as operators are shown them: without what its schema calls secret (`writeOnly`), texts whose name says that they are,
 * and logins in URLs.
 *
 * @param schema undefined: nobody says what is secret, and all texts are.
 */
export function redactOptions(
  options: object,
  schema: TObject | undefined,
): Record<string, unknown> {
  const secret: Part = { writeOnly: true }
  return Object.fromEntries(
    Object.entries(options).map(([name, value]) => [
      name,
      mask(name, value, schema === undefined && isText(value) ? secret : findPart(schema, name)),
    ]),
  )
}

function mask(name: string, value: unknown, part: Part): unknown {
  if (part.writeOnly === true) return REDACTED
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key, mask(key, each, findPart(part, key))]),
    )
  if (hasSecretPart(part)) return REDACTED
  if (Array.isArray(value)) return value.map((each) => mask(name, each, part.items ?? {}))
  if (typeof value !== 'string') return value
  return SECRET_NAME.test(name) ? REDACTED : redactUserinfo(value)
}

/** What a schema says of a member; of one it does not name, whatever it says at all. */
function findPart(schema: Part | undefined, name: string): Part {
  const own = schema?.properties
  if (own !== undefined && Object.hasOwn(own, name)) return own[name]!
  return hasSecretPart(schema) ? { writeOnly: true } : {}
}

/** Text, or what holds some. */
function isText(value: unknown): boolean {
  return typeof value !== 'number' && typeof value !== 'boolean'
}
