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

/** Table of whoever names none (reference 4). */
export const DEFAULT_TABLE = 'mx'
/** Longest life of a record that ends: some 300 years. */
const MAX_EXPIRY_SECONDS = 1e10
/** The type of a field is what stands before the first colon. */
const FIELD_TYPE = '^[^:]{0,64}$'

/** Where a request goes. */
export interface TableOptions {
  /** Empty: the namespace of the call. */
  readonly database: string
  /** Empty: `mx`. */
  readonly table: string
}

/** Which version there must be. */
export interface ConditionOptions extends TableOptions {
  /** 0: there must be no record; absent: whatever is there. */
  readonly version?: number
}

/** Which keys, and in what order. */
export interface RangeOptions extends TableOptions {
  /** Leaves records out, from the start; 0: none. */
  readonly offset: number
  /** Most records; 0: no limit. */
  readonly limit: number
  readonly order: '' | 'asc' | 'desc'
  /** First key; empty: from the start. */
  readonly from: string
  /** Where to stop, itself left out; empty: at the end. */
  readonly to: string
  /** Key behind which to go on; empty: from the start. */
  readonly after: string
}

/** How to read. */
export interface ReadOptions extends RangeOptions {
  /** Whether the key is what keys begin with; or that itself. */
  readonly prefix: boolean | string
  /** As `prefix`, of ends. */
  readonly suffix: boolean | string
}

/** How to list. */
export interface ListOptions extends RangeOptions {
  readonly prefix: string
  readonly suffix: string
}

/** What to watch. */
export interface WatchOptions extends TableOptions {
  readonly prefix: string
}

/** Where a blob lies, and what is said of one that is written. */
export interface BlobOptions {
  /** Empty: that of the call. */
  readonly namespace: string
  readonly public: boolean
  readonly content_type: string
}

/** Which blobs to list. */
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

const where = {
  database: Database(`The namespace of the call where empty, else ${DEFAULT_NAMESPACE}.`),
  table: Name(`${DEFAULT_TABLE} where empty; services have their name.`),
}
const range = {
  limit: Count('Most of all; 0: no limit.'),
  offset: Count('So many are left out, from the start.'),
  order: Type.Union([Type.Literal(''), Type.Literal('asc'), Type.Literal('desc')], {
    default: '',
    description: 'Of the bytes of their keys.',
  }),
  from: Part('First key.'),
  to: Part('Where to stop, itself left out.'),
  after: Part('Key behind which to go on: the next of a page.'),
}
const condition = {
  version: Type.Optional(
    Type.Integer({ minimum: 0, description: 'Must be that of the record; 0: there must be none.' }),
  ),
}

export const Key: TUnsafe<string> = Type.Unsafe(
  Type.Refine(
    Type.String({ description: 'Of a record.' }),
    isStoreKey,
    () => `must be 1 to ${MAX_KEY_BYTES} bytes of UTF-8 without NUL`,
  ),
)
/** A key, or what keys begin or end with. */
export const KeyPart: TUnsafe<string> = Type.Unsafe(
  Part('Of a record, or of several their prefix.'),
)
export const DatabaseName: TUnsafe<string> = Type.Unsafe(where.database)
export const Condition: TUnsafe<ConditionOptions> = Type.Unsafe(
  Type.Object({ ...where, ...condition }, { default: {} }),
)
export const Reading: TUnsafe<ReadOptions> = Type.Unsafe(
  Type.Object(
    {
      ...where,
      prefix: Flag('Whether the key is a prefix; or the prefix.'),
      suffix: Flag('Whether the key is a suffix; or the suffix.'),
      ...range,
    },
    { default: {} },
  ),
)
export const Listing: TUnsafe<ListOptions> = Type.Unsafe(
  Type.Object(
    {
      ...where,
      prefix: Part('What keys begin with.'),
      suffix: Part('What keys end with.'),
      ...range,
    },
    { default: {} },
  ),
)
export const Watching: TUnsafe<WatchOptions> = Type.Unsafe(
  Type.Object({ ...where, prefix: Part('What keys begin with.') }, { default: {} }),
)

/** Which page of names. */
export const Paging: { readonly limit: TUnsafe<number>; readonly after: TUnsafe<string> } = {
  limit: Type.Unsafe(Count('Most names; 0: as many as a page has.')),
  after: Type.Unsafe(Name('Name behind which to go on: the next of a page.')),
}

const namespace = Database(`That of the call where empty, else ${DEFAULT_NAMESPACE}.`)
export const BlobOptions: TUnsafe<BlobOptions> = Type.Unsafe(
  Type.Object(
    {
      namespace,
      public: Type.Boolean({ default: false, description: 'Said of the blob; kept with it.' }),
      content_type: Type.String({ default: '', maxLength: 256, description: 'Such as image/png.' }),
    },
    { default: {} },
  ),
)
export const BlobListing: TUnsafe<BlobListing> = Type.Unsafe(
  Type.Object(
    { namespace, prefix: Part('What keys begin with.'), limit: range.limit, after: range.after },
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

/** A record to write. */
export const RecordInput: TUnsafe<RecordMessage> = Type.Unsafe(
  Type.Object({
    key: Key,
    value: Value,
    expiry: Type.Integer({
      minimum: 0,
      maximum: MAX_EXPIRY_SECONDS,
      default: 0,
      description: 'Seconds from now until it ends; 0: never.',
    }),
    metadata: Type.Refine(
      Fields,
      (fields) => sizeOfMetadata(toMetadata(fields)) <= MAX_METADATA_BYTES,
      () => `must be at most ${MAX_METADATA_BYTES} bytes`,
    ),
    version: Type.Integer({ default: 0, description: 'Of one that was read; does not matter.' }),
  }),
)

/** Several records to write. */
export const RecordsInput: TUnsafe<readonly RecordMessage[]> = Type.Unsafe(
  Type.Refine(
    Type.Array(RecordInput, {
      minItems: 1,
      maxItems: MAX_PAGE,
      description:
        'In place of the record: all of them are written, or none; each has a key of its own.',
    }),
    (records) => new Set(records.map(({ key }) => key)).size === records.length,
    () => 'must name each key once',
  ),
)

/** A record that is told. */
export const RecordView: TUnsafe<RecordMessage> = Type.Unsafe(
  Type.Object({
    key: Type.String(),
    value: Value,
    expiry: Type.Integer({ description: 'Seconds until it ends; 0: never.' }),
    metadata: Fields,
    version: Type.Integer({ description: 'Rises with every write.' }),
  }),
)
