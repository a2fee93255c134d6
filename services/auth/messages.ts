import { isNamespaceName } from '../../core/registry/namespace-name.ts'
import { type TUnsafe, Type } from '../../core/schema.ts'
import type { Context } from '../../sdk/context.ts'
import { DEFAULT_NAMESPACE, NAMESPACE_RULE, toNamespace } from '../../sdk/namespace.ts'
import type { AccountRecord } from './records.ts'

export interface NamespaceOptions {
  /** Namespace; empty for the namespace of the call. */
  readonly namespace: string
}

/** An account in responses (reference 2.1). */
export interface AccountMessage {
  readonly id: string
  readonly type: string
  readonly metadata: Readonly<Record<string, string>>
  readonly scopes: readonly string[]
  readonly issuer: string
  /** Only returned by the call that creates the account. */
  readonly secret?: string
  readonly name: string
  /** Seconds since 1970; 0 if not stored. */
  readonly created: number
}

/** A rule in requests and responses. */
export interface RuleMessage {
  readonly id: string
  readonly scope: string
  readonly resource: ResourceMessage
  readonly access: string
  readonly priority: number
}

export interface ResourceMessage {
  readonly type: string
  readonly name: string
  readonly endpoint: string
}

const PRIORITY_MAX = 2 ** 31 - 1

/** An optional string. */
export function text(description: string): TUnsafe<string> {
  return Type.Unsafe(Type.String({ default: '', description }))
}

/** An optional string that is never printed. */
export function secret(description: string): TUnsafe<string> {
  return Type.Unsafe(Type.String({ default: '', writeOnly: true, description }))
}

export const Options: TUnsafe<NamespaceOptions> = Type.Unsafe(
  Type.Object(
    {
      namespace: Type.Refine(
        text(`Namespace; empty for the namespace of the call, otherwise ${DEFAULT_NAMESPACE}.`),
        (name) => name === '' || isNamespaceName(name),
        () => NAMESPACE_RULE,
      ),
    },
    { default: {} },
  ),
)

export const AccountView: TUnsafe<AccountMessage> = Type.Unsafe(
  Type.Object({
    id: Type.String(),
    type: Type.String({ description: 'user or service.' }),
    metadata: Type.Record(Type.String(), Type.String()),
    scopes: Type.Array(Type.String()),
    issuer: Type.String({ description: 'Namespace of the account.' }),
    secret: Type.Optional(
      Type.String({ description: 'Returned once, by the call that creates the account.' }),
    ),
    name: Type.String(),
    created: Type.Integer({ description: 'Seconds since 1970.' }),
  }),
)

const ResourceParts = Type.Object({
  type: text('service, topic or *.'),
  name: text('Full name of the service, or *.'),
  endpoint: text('Handler.Method or a path, a prefix (Handler.*, /path/*), or *.'),
})

/** An object or `type:name:endpoint` (specification: Rule). Handlers receive the object. */
export const Resource: TUnsafe<ResourceMessage> = Type.Codec(
  Type.Refine(
    Type.Unsafe<string | ResourceMessage>({
      ...ResourceParts,
      ...{ type: ['object', 'string'], default: {} },
      description: 'An object, or type:name:endpoint such as service:helloworld:*.',
    }),
    (value) => typeof value !== 'string' || value.split(':').length === 3,
    () => 'must be an object, or type:name:endpoint such as service:helloworld:*',
  ),
)
  .Decode((value): ResourceMessage => {
    if (typeof value !== 'string') return value as ResourceMessage
    const [type, name, endpoint] = value.split(':') as [string, string, string]
    return { type, name, endpoint }
  })
  .Encode((resource) => resource) as unknown as TUnsafe<ResourceMessage>

export const RuleOfCaller: TUnsafe<RuleMessage> = Type.Unsafe(
  Type.Object(
    {
      id: text('Unique in its namespace.'),
      scope: text(
        'Scope of the callers; empty for everyone, * for all accounts of the namespace, + for all accounts.',
      ),
      resource: Resource,
      access: text('GRANTED or DENIED.'),
      priority: Type.Integer({
        default: 0,
        minimum: -PRIORITY_MAX,
        maximum: PRIORITY_MAX,
        description: 'Rules with a higher priority take precedence.',
      }),
    },
    { default: {} },
  ),
)

export const RuleView: TUnsafe<RuleMessage> = Type.Unsafe(
  Type.Object({
    id: Type.String(),
    scope: Type.String(),
    resource: Type.Object({ type: Type.String(), name: Type.String(), endpoint: Type.String() }),
    access: Type.String(),
    priority: Type.Integer(),
  }),
)

/**
 * Returns the namespace of a call: from the request, otherwise the namespace in which the call was
 * made.
 */
export function namespaceOf({ namespace }: NamespaceOptions, ctx: Context): string {
  return namespace || toNamespace(ctx, idOf(ctx))
}

/**
 * Returns the id used in errors (reference 2.2), such as `auth.Auth.Token`, without the caller's
 * namespace prefix.
 */
export function idOf(ctx: Context): string {
  return `auth.${ctx.endpoint}`
}

export function toMessage(account: AccountRecord): AccountMessage {
  const { id, type, metadata, scopes, issuer, name, created } = account
  return { id, type, metadata, scopes, issuer, name, created }
}
