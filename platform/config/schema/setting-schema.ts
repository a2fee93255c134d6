import type { Setting } from '../../settings/setting.ts'

/** A JSON Schema (2020-12). */
export type ConfigSchema = Readonly<Record<string, unknown>>

/** A value with a reference, whose text is unknown before startup. */
export const REFERENCE: ConfigSchema = { $ref: '#/$defs/reference' }
/** Any single value. Numbers and booleans are read as their text. */
export const SCALAR: ConfigSchema = { type: ['string', 'number', 'boolean'] }
export const SCALAR_LIST: ConfigSchema = { anyOf: [SCALAR, { type: 'array', items: SCALAR }] }

const DURATION = text(`none|0+(?:\\.0+)?|\\d{1,15}(?:\\.\\d{1,6})? ?(?:ms|s|m|h|d)`)
const SIZE = text('none|auto|\\d{1,15}(?:\\.\\d{1,6})? ?(?:b|kb|mb|gb|tb)?')

/** Returns the schema for one of `words`, with completion in editors. */
export function oneOfWords(words: readonly string[]): ConfigSchema {
  return { anyOf: [{ enum: words }, text(words.map(escapePattern).join('|')), REFERENCE] }
}

export const SWITCH_SCHEMA: ConfigSchema = {
  anyOf: [{ type: 'boolean' }, { enum: [0, 1] }, text('true|on|yes|1|false|off|no|0'), REFERENCE],
}
export const DURATION_SCHEMA: ConfigSchema = { anyOf: [DURATION, { const: 0 }, REFERENCE] }

/** Returns the schema of a setting's value in `mx.yaml`. */
export function toSettingSchema(setting: Setting<unknown>): ConfigSchema {
  const { description, allowed, only, live, unset } = setting
  const standard = setting.default === '' ? unset : setting.default
  const notes = [
    `${description}.`,
    `Allowed: ${allowed}.`,
    ...(standard === undefined ? [] : [`Default: ${standard}.`]),
    ...(only === undefined ? [] : [`Only mx ${only}.`]),
    live ? 'Live.' : 'Changes require a restart.',
  ]
  return {
    ...toValueSchema(setting),
    description: notes.join(' '),
    ...(setting.default !== '' && { default: setting.default }),
  }
}

/** Returns the schema of a value, derived from the texts that describe it. */
export function toValueSchema({
  kind,
  placeholder,
  allowed,
}: Pick<Setting<unknown>, 'kind' | 'placeholder' | 'allowed'>): ConfigSchema {
  if (kind === 'switch') return SWITCH_SCHEMA
  if (kind === 'list') return SCALAR_LIST
  const [, words] = /^one of (.*)$/.exec(allowed) ?? []
  if (words !== undefined) return oneOfWords(words.split(', '))
  if (placeholder.startsWith('duration')) return DURATION_SCHEMA
  if (placeholder.startsWith('size'))
    return { anyOf: [{ type: 'number', minimum: 0 }, SIZE, REFERENCE] }
  const [, min, max] = /^a whole number from (\d+) to (\d+)/.exec(allowed) ?? []
  if (min !== undefined) {
    const number = { type: 'integer', minimum: Number(min), maximum: Number(max) }
    const digits = text(`\\d{1,9}${allowed.endsWith(', or auto') ? '|auto' : ''}`)
    return { anyOf: [number, digits, REFERENCE] }
  }
  if (placeholder.startsWith('host:port')) return { type: 'string' }
  return SCALAR
}

/**
 * Matches text in any letter case, surrounded by optional spaces. JSON Schema patterns have no
 * flags.
 */
function text(pattern: string): ConfigSchema {
  const anyCase = pattern.replace(/\\.|[a-z]/g, (part) =>
    part.length === 1 ? `[${part}${part.toUpperCase()}]` : part,
  )
  return { type: 'string', pattern: `^\\s*(?:${anyCase})\\s*$` }
}

function escapePattern(word: string): string {
  return word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
