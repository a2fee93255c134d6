import type { Field } from './field.ts'

/** What a schema demands of a value besides its type, in words: `1 to 5`, `at most 80 characters`. Patterns are told, never run: they are the service's. */
export function boundsOf({ schema, kind }: Pick<Field, 'schema' | 'kind'>): readonly string[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
  const { minLength, maxLength, minItems, maxItems, pattern, format } = schema
  const range = [
    exclusiveMinimum !== undefined && `more than ${exclusiveMinimum}`,
    exclusiveMaximum !== undefined && `less than ${exclusiveMaximum}`,
    multipleOf !== undefined && `a multiple of ${multipleOf}`,
    pattern !== undefined && `like ${pattern}`,
    format !== undefined && kind === 'text' && `a ${format}`,
  ]
  return [
    toRange(minimum, maximum, ''),
    toRange(minLength, maxLength, ' characters'),
    toRange(minItems, maxItems, ' items'),
    ...range,
  ].filter((text): text is string => typeof text === 'string' && text !== '')
}

function toRange(least: number | undefined, most: number | undefined, unit: string): string {
  if (least !== undefined && most !== undefined)
    return least === most ? `${least}${unit}` : `${least} to ${most}${unit}`
  if (least !== undefined) return `at least ${least}${unit}`
  return most === undefined ? '' : `at most ${most}${unit}`
}
