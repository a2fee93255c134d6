import { isNamespaceName } from '../../core/registry/namespace-name.ts'
import { type TUnsafe, Type } from '../../core/schema.ts'
import { DEFAULT_NAMESPACE, NAMESPACE_RULE } from '../../sdk/namespace.ts'
import { isPath, PATH_RULE } from './tree/path.ts'

export interface SecretOptions {
  readonly secret: boolean
}

export interface GetOptions extends SecretOptions {
  /** Version; 0 for the latest. */
  readonly version: number
}

export interface ListOptions {
  /** Page size; 0 for the maximum. */
  readonly limit: number
  /** Path after which the page starts; empty to start with the first path. */
  readonly after: string
}

/** A value in responses. */
export interface Reading {
  readonly value: {
    /** Value as JSON; `null` if there is no value. */
    readonly data: string
    readonly format: string
  }
  readonly exists: boolean
  /** Version of the namespace. */
  readonly version: number
}

/** Maximum page size. This many paths of maximum length have a size of 1 MiB. */
export const MAX_PAGE = 1000

const text = (description: string) => Type.String({ default: '', description })
const secret = (description: string) => Type.Boolean({ default: false, description })

export const Namespace: TUnsafe<string> = Type.Unsafe(
  Type.Refine(
    text(`Namespace; empty for the namespace of the call, otherwise ${DEFAULT_NAMESPACE}.`),
    (name) => name === '' || isNamespaceName(name),
    () => NAMESPACE_RULE,
  ),
)

export const Path: TUnsafe<string> = Type.Unsafe(
  Type.Refine(text('Names joined by dots; empty: the whole tree.'), isPath, () => PATH_RULE),
)

export const GetOptionsSchema: TUnsafe<GetOptions> = Type.Unsafe(
  Type.Object(
    {
      secret: secret('Return secrets; otherwise they are `[secret]`.'),
      version: Type.Integer({
        minimum: 0,
        default: 0,
        description: 'Version to read; 0 for the latest.',
      }),
    },
    { default: {} },
  ),
)

export const Watching: TUnsafe<SecretOptions> = Type.Unsafe(
  Type.Object(
    { secret: secret('Return secrets; otherwise they are `[secret]`.') },
    { default: {} },
  ),
)

export const Setting: TUnsafe<SecretOptions> = Type.Unsafe(
  Type.Object({ secret: secret('Mark the whole value as secret.') }, { default: {} }),
)

export const Listing: TUnsafe<ListOptions> = Type.Unsafe(
  Type.Object(
    {
      limit: Type.Integer({ minimum: 0, default: 0, description: `Page size; 0 for ${MAX_PAGE}.` }),
      after: Type.Refine(
        text('Cursor, taken from next of the previous page.'),
        isPath,
        () => PATH_RULE,
      ),
    },
    { default: {} },
  ),
)

/** Value to be set. It is never quoted in errors. */
export const ConfigValueInput: TUnsafe<{ readonly data: string }> = Type.Unsafe(
  Type.Object({
    data: Type.String({ writeOnly: true, description: 'JSON.' }),
    format: Type.Union([Type.Literal(''), Type.Literal('json')], { default: '' }),
  }),
)

export const ConfigValueView: TUnsafe<Reading['value']> = Type.Unsafe(
  Type.Object({
    data: Type.String({ description: 'JSON; null if there is no value.' }),
    format: Type.String({ description: 'json' }),
  }),
)

export const Version: TUnsafe<number> = Type.Unsafe(
  Type.Integer({ description: 'Version of the namespace.' }),
)
