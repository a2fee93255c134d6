import { DEFAULT_DOMAIN } from '../../core/registry/service.ts'
import { type TUnsafe, Type } from '../../core/schema.ts'
import {
  DEFAULT_VERSION,
  type EntryOptions,
  type ServiceEntry,
  type ServiceInput,
} from './entry.ts'
import {
  ADDRESS,
  DOMAIN,
  MAX_ENDPOINTS,
  MAX_METADATA_VALUE,
  MAX_NODES,
  MAX_TTL_SECONDS,
  METADATA,
  SERVICE_NAME,
  TEXT,
  TEXT_OR_EMPTY,
  TTL_SECONDS,
  VALUE,
} from './limits.ts'

const Value = Type.Cyclic(
  {
    Value: Type.Object({
      name: Type.String({ default: '' }),
      type: Type.String({ default: '' }),
      values: Type.Array(Type.Ref('Value'), { default: [] }),
    }),
  },
  'Value',
)
/** Options of every request. */
export const Options: TUnsafe<EntryOptions> = Type.Unsafe<EntryOptions>(
  Type.Object(
    {
      ttl: Type.Integer({
        minimum: 0,
        maximum: MAX_TTL_SECONDS,
        default: 0,
        description: `TTL of the registration in seconds; 0 for ${TTL_SECONDS}.`,
      }),
      domain: Type.Refine(
        Type.String({
          default: '',
          description: `Domain; empty for ${DEFAULT_DOMAIN}; * for all domains in reads.`,
        }),
        ...DOMAIN,
      ),
    },
    { default: {} },
  ),
)

/** Accepts `null`, which some languages write for an empty list or map. */
const orNull = <S extends { readonly type: string }>(schema: S): S => ({
  ...schema,
  type: [schema.type, 'null'],
})
const Metadata = Type.Refine(
  orNull(
    Type.Record(Type.String(), Type.String({ maxLength: MAX_METADATA_VALUE }), { default: {} }),
  ),
  ...METADATA,
)
const ValueInput = Type.Refine({ ...Value, default: {} } as typeof Value, ...VALUE)
/** A registration with limits and defaults for optional fields. */
export const RegisterInput: TUnsafe<ServiceInput & { readonly options: EntryOptions }> =
  Type.Unsafe(
    Type.Object({
      name: Type.Refine(Type.String(), ...SERVICE_NAME),
      version: Type.Refine(
        Type.String({ default: '', description: `Version; empty for ${DEFAULT_VERSION}.` }),
        ...TEXT_OR_EMPTY,
      ),
      metadata: Metadata,
      endpoints: orNull(
        Type.Array(
          Type.Object({
            name: Type.Refine(Type.String(), ...TEXT),
            request: ValueInput,
            response: ValueInput,
            // Schemas and descriptions may be long; they are only limited by the size of the entry.
            metadata: Type.Refine(
              orNull(Type.Record(Type.String(), Type.String(), { default: {} })),
              ...METADATA,
            ),
          }),
          { maxItems: MAX_ENDPOINTS, default: [] },
        ),
      ),
      nodes: orNull(
        Type.Array(
          Type.Object({
            id: Type.Refine(Type.String(), ...TEXT),
            address: Type.Refine(Type.String(), ...ADDRESS),
            port: Type.Optional(
              Type.String({ description: 'Ignored; the port of the address applies.' }),
            ),
            metadata: Metadata,
          }),
          { maxItems: MAX_NODES, default: [] },
        ),
      ),
      options: Options,
    }),
  )

const Texts = Type.Record(Type.String(), Type.String())
export const Entry: TUnsafe<ServiceEntry> = Type.Unsafe(
  Type.Object({
    name: Type.String(),
    version: Type.String(),
    metadata: Texts,
    endpoints: Type.Array(
      Type.Object({ name: Type.String(), request: Value, response: Value, metadata: Texts }),
    ),
    nodes: Type.Array(
      Type.Object({
        id: Type.String(),
        address: Type.String(),
        port: Type.String(),
        metadata: Texts,
      }),
    ),
    options: Type.Object({ ttl: Type.Integer(), domain: Type.String() }),
  }),
)

export const Entries: TUnsafe<readonly ServiceEntry[]> = Type.Unsafe(Type.Array(Entry))
