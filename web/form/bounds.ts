import type { Field } from './field.ts'

/**
 * Describes the constraints of a schema, such as `1 to 5` or `at most 80 characters`. Patterns are shown but never
 * executed, because an untrusted regular expression can block the page.
 */
export function boundsOf({ schema, kind }: Pick<Field, 'schema' | 'kind'>): readonly string[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
  const { minLength, maxLength, minItems, maxItems, pattern, format } = schema
  const range = [
    exclusiveMinimum !== undefined && `greater than ${exclusiveMinimum}`,
    exclusiveMaximum !== undefined && `less than ${exclusiveMaximum}`,
    multipleOf !== undefined && `multiple of ${multipleOf}`,
    pattern !== undefined && `pattern ${pattern}`,
    format !== undefined && kind === 'text' && `format ${format}`,
  ]
  return [
    toRange(minimum, maximum, ''),
    toRange(minLength, maxLength, ' characters'),
    toRange(minItems, maxItems, ' items'),
    ...range,
  ].filter((text): text is string => typeof text === 'string' && text !== '')
}

function toRange(min: number | undefined, max: number | undefined, unit: string): string {
  if (min !== undefined && max !== undefined)
    return min === max ? `${min}${unit}` : `${min} to ${max}${unit}`
  if (min !== undefined) return `at least ${min}${unit}`
  return max === undefined ? '' : `at most ${max}${unit}`
}
