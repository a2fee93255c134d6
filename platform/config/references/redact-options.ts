import type { TObject } from '../../../core/schema.ts'
import { hasSecretPart, REDACTED, redactUserinfo, SECRET_NAME } from '../../../lib/text/redact.ts'

/** Subset of a JSON schema that marks secrets. */
interface Part {
  readonly writeOnly?: boolean
  readonly properties?: Readonly<Record<string, Part>>
  readonly items?: Part
}

/**
 * Redacts secrets in the options of a plugin: `writeOnly` parts of its schema, strings with names
 * such as `token`, and userinfo in URLs.
 *
 * @param schema undefined to redact all strings.
 */
export function redactOptions(
  options: object,
  schema: TObject | undefined,
): Record<string, unknown> {
  const secret: Part = { writeOnly: true }
  return Object.fromEntries(
    Object.entries(options).map(([name, value]) => [
      name,
      mask(
        name,
        value,
        schema === undefined && canContainText(value) ? secret : findPart(schema, name),
      ),
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

/**
 * Returns the schema of a property. An undeclared property is secret if the schema contains any
 * secret.
 */
function findPart(schema: Part | undefined, name: string): Part {
  const properties = schema?.properties
  if (properties !== undefined && Object.hasOwn(properties, name)) return properties[name]!
  return hasSecretPart(schema) ? { writeOnly: true } : {}
}

/** Returns whether a value is or may contain a string. */
function canContainText(value: unknown): boolean {
  return typeof value !== 'number' && typeof value !== 'boolean'
}
