import { isNamespaceName } from '../../core/registry/namespace-name.ts'
import { type TUnsafe, Type } from '../../core/schema.ts'
import { DEFAULT_NAMESPACE, NAMESPACE_RULE } from '../../sdk/namespace.ts'
import { isPath, PATH_RULE } from './tree/path.ts'

/** Whether secrets are told. */
export interface SecretOptions {
  readonly secret: boolean
}

/** How to read. */
export interface GetOptions extends SecretOptions {
  /** 0: the last. */
  readonly version: number
}

/** Which leaves to list. */
export interface ListOptions {
  /** Most of a page; 0: as many as it holds. */
  readonly limit: number
  /** Path behind which to go on; empty: from the start. */
  readonly after: string
}

/** What a path leads to, as callers are told. */
export interface Reading {
  readonly value: {
    /** JSON; `null` where there is nothing. */
    readonly data: string
    readonly format: string
  }
  /** Whether there is something. */
  readonly exists: boolean
  /** Of the namespace. */
  readonly version: number
}

/** Leaves of a page, at most; as many of their paths as long as they may be are 1 MiB. */
export const MAX_PAGE = 1000

const text = (description: string) => Type.String({ default: '', description })
const secret = (description: string) => Type.Boolean({ default: false, description })

export const Namespace: TUnsafe<string> = Type.Unsafe(
  Type.Refine(
    text(`The one of the call where empty, else ${DEFAULT_NAMESPACE}.`),
    (name) => name === '' || isNamespaceName(name),
    () => NAMESPACE_RULE,
  ),
)

export const Path: TUnsafe<string> = Type.Unsafe(
  Type.Refine(text('Names joined by dots; empty: the whole tree.'), isPath, () => PATH_RULE),
)

export const Getting: TUnsafe<GetOptions> = Type.Unsafe(
  Type.Object(
    {
      secret: secret('Whether secrets are told; otherwise they are `[secret]`.'),
      version: Type.Integer({ minimum: 0, default: 0, description: 'To read; 0: the last.' }),
    },
    { default: {} },
  ),
)

export const Watching: TUnsafe<SecretOptions> = Type.Unsafe(
  Type.Object(
    { secret: secret('Whether secrets are told; otherwise they are `[secret]`.') },
    { default: {} },
  ),
)

export const Setting: TUnsafe<SecretOptions> = Type.Unsafe(
  Type.Object({ secret: secret('Whether all of it is secret.') }, { default: {} }),
)

export const Listing: TUnsafe<ListOptions> = Type.Unsafe(
  Type.Object(
    {
      limit: Type.Integer({ minimum: 0, default: 0, description: `Most; ${MAX_PAGE} where 0.` }),
      after: Type.Refine(
        text('Path behind which to go on: the next of a page.'),
        isPath,
        () => PATH_RULE,
      ),
    },
    { default: {} },
  ),
)

/** A value to set; never quoted in an error. */
export const ConfigValueInput: TUnsafe<{ readonly data: string }> = Type.Unsafe(
  Type.Object({
    data: Type.String({ writeOnly: true, description: 'JSON.' }),
    format: Type.Union([Type.Literal(''), Type.Literal('json')], { default: '' }),
  }),
)

export const ConfigValueView: TUnsafe<Reading['value']> = Type.Unsafe(
  Type.Object({
    data: Type.String({ description: 'JSON; null where there is nothing.' }),
    format: Type.String({ description: 'json' }),
  }),
)

export const Version: TUnsafe<number> = Type.Unsafe(
  Type.Integer({ description: 'Of the namespace.' }),
)
