import { HEALTH_FIELDS, OUTLIER_FIELDS, type PolicyField, VALUE_FIELDS } from '../policies/table.ts'
import { type ConfigSchema, toValueSchema } from './setting-schema.ts'

/** Schemas of the policies of the gateway and of services, by key. */
export const POLICY_SCHEMAS: Readonly<Record<string, ConfigSchema>> = {
  outlier: {
    description: 'Ejection of failing and slow nodes. off: nodes are never ejected.',
    anyOf: [
      { enum: ['off', false] },
      { type: 'object', properties: toProperties(OUTLIER_FIELDS), additionalProperties: false },
    ],
  },
  health: {
    description: 'Active health checks: a path such as /healthz, a map, or off.',
    anyOf: [
      { enum: ['off', false] },
      { type: 'string', pattern: '^/' },
      { type: 'object', properties: toProperties(HEALTH_FIELDS), additionalProperties: false },
    ],
  },
  ...toProperties(VALUE_FIELDS),
}

function toProperties(
  table: Readonly<Record<string, PolicyField<unknown>>>,
): Record<string, ConfigSchema> {
  return Object.fromEntries(
    Object.values(table).map((field) => {
      const { name, description, allowed } = field
      const text = `${description}. Allowed: ${allowed}. Default: ${field.default}.`
      return [name, { ...toValueSchema(field), description: text }]
    }),
  )
}
