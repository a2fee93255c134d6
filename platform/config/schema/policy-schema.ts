import {
  BREAKER_FIELDS,
  CONCURRENCY_FIELDS,
  HEALTH_FIELDS,
  HEDGE_FIELDS,
  OUTLIER_FIELDS,
  type PolicyField,
  RETRY_FIELDS,
  VALUE_FIELDS,
} from '../../../core/upstream/policies/policy-table.ts'
import { type ConfigSchema, toValueSchema } from './setting-schema.ts'

/** Schema of `retry:`. */
export const RETRY_SCHEMA: ConfigSchema = {
  description: 'Retries of failed requests. off disables retries.',
  anyOf: [{ enum: ['off', false] }, toObject(RETRY_FIELDS)],
}

/** Schema of `hedge:`. */
export const HEDGE_SCHEMA: ConfigSchema = {
  description: 'Sends slow requests to a second node as well. off disables hedging.',
  anyOf: [{ enum: ['off', false] }, toObject(HEDGE_FIELDS)],
}

/** Schema of `concurrency:`. */
export const CONCURRENCY_SCHEMA: ConfigSchema = {
  description:
    'Limit of requests in progress; a map with any key, or {}, enables it. off disables the limit.',
  anyOf: [{ enum: ['off', false] }, toObject(CONCURRENCY_FIELDS)],
}

/** Schemas of the policies of the gateway and of services, by key. */
export const POLICY_SCHEMAS: Readonly<Record<string, ConfigSchema>> = {
  outlier: {
    description: 'Ejection of failing and slow nodes. off disables ejection.',
    anyOf: [{ enum: ['off', false] }, toObject(OUTLIER_FIELDS)],
  },
  retry: RETRY_SCHEMA,
  hedge: HEDGE_SCHEMA,
  concurrency: CONCURRENCY_SCHEMA,
  breaker: {
    description:
      'Circuit breakers of the service and its nodes; a map with any key, or {}, enables them.',
    anyOf: [{ enum: ['off', false] }, toObject(BREAKER_FIELDS)],
  },
  health: {
    description: 'Active health checks: a path such as /healthz, a map, or off.',
    anyOf: [{ enum: ['off', false] }, { type: 'string', pattern: '^/' }, toObject(HEALTH_FIELDS)],
  },
  ...toProperties(VALUE_FIELDS),
}

type Fields = Readonly<Record<string, PolicyField<unknown>>>

function toObject(table: Fields): ConfigSchema {
  return { type: 'object', properties: toProperties(table), additionalProperties: false }
}

/** Returns the properties by name. `a.b` is the property `b` of the object `a`. */
function toProperties(table: Fields): Record<string, ConfigSchema> {
  const fields = Object.values(table)
  const nested = new Set(fields.flatMap(({ name }) => name.split('.').slice(0, -1)))
  const isFieldOf = (parent: string, { name }: PolicyField<unknown>): boolean =>
    name.startsWith(`${parent}.`)
  return Object.fromEntries([
    ...fields.filter(({ name }) => !name.includes('.')).map(toProperty),
    ...[...nested].map((parent) => {
      const ownFields = fields
        .filter((field) => isFieldOf(parent, field))
        .map((field) => [field.name, { ...field, name: field.name.slice(parent.length + 1) }])
      return [parent, toObject(Object.fromEntries(ownFields))]
    }),
  ])
}

function toProperty(field: PolicyField<unknown>): [name: string, schema: ConfigSchema] {
  const { name, description, allowed } = field
  const text = `${description}. Allowed: ${allowed}. Default: ${field.default}.`
  return [name, { ...toValueSchema(field), description: text }]
}
