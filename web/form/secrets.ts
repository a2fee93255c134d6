import type { Field } from './field.ts'

/** A request without what its schema calls secret (`writeOnly`): as it may be kept in the browser. */
export function withoutSecrets(field: Field, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (field.kind === 'union')
    // Which alternative it is does not matter: a name that is secret in one of them is left out.
    return field.parts.reduce((left, part) => withoutSecrets(part, left), value as unknown)
  if (Array.isArray(value))
    return value.map((item, i) => {
      const part = field.item ?? field.parts[i]
      return part === undefined ? item : withoutSecrets(part, item)
    })
  const parts = new Map(field.parts.map((part) => [part.name, part]))
  const entries = Object.entries(value).flatMap(([name, inner]) => {
    const part = field.kind === 'map' ? field.item : parts.get(name)
    if (part === undefined) return [[name, inner]]
    return part.isSecret ? [] : [[name, withoutSecrets(part, inner)]]
  })
  return Object.fromEntries(entries)
}
