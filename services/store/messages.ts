import { isNamespaceName } from '../../core/registry/namespace-name.ts'
import { type TUnsafe, Type } from '../../core/schema.ts'
import {
  isKeyPart,
  isStoreKey,
  isTableName,
  MAX_KEY_BYTES,
  MAX_METADATA_BYTES,
  sizeOfMetadata,
} from '../../domain/store/limits.ts'
import { MAX_PAGE } from '../../domain/store/page.ts'
import { DEFAULT_NAMESPACE, NAMESPACE_RULE } from '../../sdk/namespace.ts'
import { Bytes } from '../../sdk/schema/schema-types.ts'
import { type RecordMessage, toMetadata } from './records.ts'

/** Default table (reference 4). */
export const DEFAULT_TABLE = 'mx'
/** Maximum lifetime of a record in seconds (about 300 years). */
const MAX_EXPIRY_SECONDS = 1e10
/** The type of a metadata field is the text before the first colon. */
const FIELD_TYPE = '^[^:]{0,64}$'

export interface TableOptions {
  /** Database; empty for the namespace of the call. */
  readonly database: string
  /** Table; empty for `mx`. */
  readonly table: string
}

/** Expected version. */
export interface ConditionOptions extends TableOptions {
  /** Expected version. If 0, the record must not exist; if absent, any version is accepted. */
  readonly version?: number
}

/** Range of keys and order. */
export interface RangeOptions extends TableOptions {
  /** Number of records to skip. */
  readonly offset: number
  /** Maximum number of records; 0 for unlimited. */
  readonly limit: number
  readonly order: '' | 'asc' | 'desc'
  /** First key; empty to start with the first key. */
  readonly from: string
  /** Exclusive end of the range; empty for no end. */
  readonly to: string
  /** Key after which the page starts; empty to start with the first key. */
  readonly after: string
}

export interface ReadOptions extends RangeOptions {
  /** `true` if the key is a prefix, or the prefix itself. */
  readonly prefix: boolean | string
  /** Like `prefix`, for suffixes. */
  readonly suffix: boolean | string
}

export interface ListOptions extends RangeOptions {
  readonly prefix: string
  readonly suffix: string
}

export interface WatchOptions extends TableOptions {
  readonly prefix: string
}

/** Location and details of a blob. */
export interface BlobOptions {
  /** Namespace; empty for the namespace of the call. */
  readonly namespace: string
  readonly public: boolean
  readonly content_type: string
}

export interface BlobListing {
  readonly namespace: string
  readonly prefix: string
  readonly limit: number
  readonly after: string
}

const Name = (description: string) =>
  Type.Refine(
    Type.String({ default: '', description }),
    (name) => name === '' || isTableName(name),
    () => 'must be letters, digits and inner dots, dashes or underscores, at most 253',
  )
const Database = (description: string) =>
  Type.Refine(
    Type.String({ default: '', description }),
    (name) => name === '' || isNamespaceName(name),
    () => NAMESPACE_RULE,
  )
const Part = (description: string) =>
  Type.Refine(
    Type.String({ default: '', description }),
    isKeyPart,
    () => `must be at most ${MAX_KEY_BYTES} bytes of UTF-8 without NUL`,
  )
const Flag = (description: string) =>
  Type.Refine(
    Type.Union([Type.Boolean(), Type.String()], { default: false, description }),
    (part) => typeof part === 'boolean' || isKeyPart(part),
    () => `must be true, false, or at most ${MAX_KEY_BYTES} bytes of UTF-8 without NUL`,
  )
const Count = (description: string) => Type.Integer({ minimum: 0, default: 0, description })

const location = {
  database: Database(
    `Database; empty for the namespace of the call, otherwise ${DEFAULT_NAMESPACE}.`,
  ),
  table: Name(`Table; empty for ${DEFAULT_TABLE}. Services use a table with their name.`),
}
const range = {
  limit: Count('Maximum number of records; 0 for unlimited.'),
  offset: Count('Number of records to skip.'),
  order: Type.Union([Type.Literal(''), Type.Literal('asc'), Type.Literal('desc')], {
    default: '',
    description: 'Byte order of keys.',
  }),
  from: Part('First key.'),
  to: Part('End of the range, exclusive.'),
  after: Part('Cursor, taken from next of the previous page.'),
}
const condition = {
  version: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'Expected version of the record; 0 if it must not exist.',
    }),
  ),
}

export const Key: TUnsafe<string> = Type.Unsafe(
  Type.Refine(
    Type.String({ description: 'Key of a record.' }),
    isStoreKey,
    () => `must be 1 to ${MAX_KEY_BYTES} bytes of UTF-8 without NUL`,
  ),
)
/** A key, or a prefix or suffix of keys. */
export const KeyPart: TUnsafe<string> = Type.Unsafe(
  Part('Key of a record, or prefix of several keys.'),
)
export const DatabaseName: TUnsafe<string> = Type.Unsafe(location.database)
export const Condition: TUnsafe<ConditionOptions> = Type.Unsafe(
  Type.Object({ ...location, ...condition }, { default: {} }),
)
export const Reading: TUnsafe<ReadOptions> = Type.Unsafe(
  Type.Object(
    {
      ...location,
      prefix: Flag('true if the key is a prefix, or the prefix itself.'),
      suffix: Flag('true if the key is a suffix, or the suffix itself.'),
      ...range,
    },
    { default: {} },
  ),
)
export const ListOptionsSchema: TUnsafe<ListOptions> = Type.Unsafe(
  Type.Object(
    {
      ...location,
      prefix: Part('Prefix of keys.'),
      suffix: Part('Suffix of keys.'),
      ...range,
    },
    { default: {} },
  ),
)
export const Watching: TUnsafe<WatchOptions> = Type.Unsafe(
  Type.Object({ ...location, prefix: Part('Prefix of keys.') }, { default: {} }),
)

/** Pagination of names. */
export const Paging: { readonly limit: TUnsafe<number>; readonly after: TUnsafe<string> } = {
  limit: Type.Unsafe(Count('Page size; 0 for the maximum.')),
  after: Type.Unsafe(Name('Cursor, taken from next of the previous page.')),
}

const namespace = Database(
  `Namespace; empty for the namespace of the call, otherwise ${DEFAULT_NAMESPACE}.`,
)
export const BlobOptions: TUnsafe<BlobOptions> = Type.Unsafe(
  Type.Object(
    {
      namespace,
      public: Type.Boolean({ default: false, description: 'Public flag, stored with the blob.' }),
      content_type: Type.String({
        default: '',
        maxLength: 256,
        description: 'Content type, such as image/png.',
      }),
    },
    { default: {} },
  ),
)
export const BlobListing: TUnsafe<BlobListing> = Type.Unsafe(
  Type.Object(
    { namespace, prefix: Part('Prefix of keys.'), limit: range.limit, after: range.after },
    { default: {} },
  ),
)

const Value = Bytes({ default: '', description: 'Bytes; base64 in JSON.' })
const Fields = Type.Record(
  Type.String(),
  Type.Object({
    type: Type.String({ default: 'string', pattern: FIELD_TYPE }),
    value: Type.String({ default: '' }),
  }),
  { default: {} },
)

export const RecordInput: TUnsafe<RecordMessage> = Type.Unsafe(
  Type.Object({
    key: Key,
    value: Value,
    expiry: Type.Integer({
      minimum: 0,
      maximum: MAX_EXPIRY_SECONDS,
      default: 0,
      description: 'Seconds until expiry; 0 for never.',
    }),
    metadata: Type.Refine(
      Fields,
      (fields) => sizeOfMetadata(toMetadata(fields)) <= MAX_METADATA_BYTES,
      () => `must be at most ${MAX_METADATA_BYTES} bytes`,
    ),
    version: Type.Integer({
      default: 0,
      description: 'Version of a record that was read; ignored.',
    }),
  }),
)

export const RecordsInput: TUnsafe<readonly RecordMessage[]> = Type.Unsafe(
  Type.Refine(
    Type.Array(RecordInput, {
      minItems: 1,
      maxItems: MAX_PAGE,
      description:
        'Alternative to record. All records are written atomically; keys must be unique.',
    }),
    (records) => new Set(records.map(({ key }) => key)).size === records.length,
    () => 'must not repeat a key',
  ),
)

/** Record in responses. */
export const RecordView: TUnsafe<RecordMessage> = Type.Unsafe(
  Type.Object({
    key: Type.String(),
    value: Value,
    expiry: Type.Integer({ description: 'Seconds until expiry; 0 for never.' }),
    metadata: Fields,
    version: Type.Integer({ description: 'Increases with each write.' }),
  }),
)
