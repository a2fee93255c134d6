import { ADMIN, isOperator } from '../../../core/auth/policy/account-rights.ts'
import { toComparableName } from '../../../core/auth/policy/endpoint-rules.ts'
import { Policy } from '../../../core/auth/policy/policy.ts'
import { isAlwaysAllowed } from '../../../core/auth/policy/repair-calls.ts'
import type { AuthSource, Rule } from '../../../core/contracts/auth.ts'
import { type TUnsafe, Type } from '../../../core/schema.ts'
import {
  mustBeAdmin,
  mustBeMember,
  mustBeService,
  toMissingScope,
} from '../../../sdk/auth/account-checks.ts'
import type { Account, Context } from '../../../sdk/context.ts'
import { badRequest } from '../../../sdk/errors.ts'
import { DEFAULT_NAMESPACE } from '../../../sdk/namespace.ts'
import { type Endpoints, endpoint } from '../../../sdk/service/endpoint.ts'
import type { Accounts } from '../accounts/accounts.ts'
import type { Audit } from '../audit.ts'
import {
  idOf,
  namespaceOf,
  Options,
  Resource,
  type RuleMessage,
  RuleOfCaller,
  RuleView,
  text,
} from '../messages.ts'
import { isEnforcer, type Watchers } from '../watchers.ts'
import { toResource, toRule } from './check-rule.ts'
import { type FindService, findMismatch } from './find-mismatch.ts'
import type { Rules } from './rules.ts'

export interface RuleEndpointsOptions {
  readonly accounts: Accounts
  readonly rules: Rules
  readonly source: AuthSource
  readonly watchers: Watchers
  readonly audit: Audit
  readonly findService: FindService
}

/** Rules in a watch message. */
interface RulesUpdate {
  readonly rules: readonly RuleMessage[]
  readonly more: boolean
}

const UpdateMessage: TUnsafe<RulesUpdate> = Type.Unsafe(
  Type.Object({
    rules: Type.Array(RuleView),
    more: Type.Boolean({ description: 'Whether the next message continues the list.' }),
  }),
)
const Force: TUnsafe<boolean> = Type.Unsafe(
  Type.Boolean({
    default: false,
    description:
      'Apply the change even if only operators can log in afterwards or the caller can no longer change rules. Requires an operator.',
  }),
)
const Warning = Type.Optional(
  Type.String({
    description:
      'Warning that no endpoint of the registered service matches; absent if it may match.',
  }),
)
/** Maximum number of entries per message. */
const PAGE = 500

/** Names of namespaces in a watch message. */
interface NamespacesUpdate {
  readonly namespaces: readonly string[]
  readonly more: boolean
}

const NamesUpdate: TUnsafe<NamespacesUpdate> = Type.Unsafe(
  Type.Object({
    namespaces: Type.Array(Type.String()),
    more: Type.Boolean({ description: 'Whether the next message continues the list.' }),
  }),
)

/** Endpoints of the `Rules` handler (reference 2.1). */
export function createRuleEndpoints(options: RuleEndpointsOptions): Endpoints {
  const { accounts, rules, source, watchers, audit, findService } = options

  async function* streamRules(namespace: string, signal: AbortSignal): AsyncIterable<RulesUpdate> {
    for await (const all of source.watchRules(namespace, signal))
      for (const { page, more } of toPages(all)) yield { rules: page, more }
  }

  async function* streamNamespaces(signal: AbortSignal): AsyncIterable<NamespacesUpdate> {
    for await (const all of source.watchNamespaces(signal))
      for (const { page, more } of toPages([...all])) yield { namespaces: page, more }
  }

  return {
    create: endpoint({
      description: 'Creates a rule.',
      idempotent: false,
      request: Type.Object({ rule: RuleOfCaller, force: Force, options: Options }),
      response: Type.Object({ warning: Warning }),
      async handle({ rule: input, force, options }, ctx) {
        const errorId = idOf(ctx)
        const namespace = namespaceOf(options, ctx)
        const caller = mustBeAdmin(ctx, namespace, errorId)
        if (force) mustBeAllowedToForce(caller, errorId)
        const rule = toRule(input, errorId)
        await rules.create(namespace, rule, { force, caller }, errorId)
        audit(ctx, 'rule.create', { namespace, target: describe(rule) })
        const warning = await findMismatch(findService, toNamespaces(namespace), rule.resource)
        return warning === undefined ? {} : { warning }
      },
    }),

    delete: endpoint({
      description: 'Deletes a rule.',
      idempotent: false,
      request: Type.Object({ id: text('Rule id.'), force: Force, options: Options }),
      response: Type.Object({}),
      async handle({ id, force, options }, ctx) {
        const errorId = idOf(ctx)
        const namespace = namespaceOf(options, ctx)
        const caller = mustBeAdmin(ctx, namespace, errorId)
        if (force) mustBeAllowedToForce(caller, errorId)
        if (id === '') throw badRequest(errorId, 'ID missing')
        await rules.delete(namespace, id, { force, caller }, errorId)
        audit(ctx, 'rule.delete', { namespace, target: id })
        return {}
      },
    }),

    list: endpoint({
      readOnly: true,
      description: 'Lists the rules of the namespace, sorted by id.',
      request: Type.Object({ options: Options }),
      response: Type.Object({ rules: Type.Array(RuleView) }),
      async handle({ options }, ctx) {
        const namespace = namespaceOf(options, ctx)
        mustBeMember(ctx, namespace, idOf(ctx))
        return { rules: [...(await rules.list(namespace, ctx.signal))] }
      },
    }),

    test: endpoint({
      readOnly: true,
      description:
        'Evaluates the rules for a call in the namespace and returns the deciding rule. Testing other accounts requires an administrator.',
      request: Type.Object({
        resource: Resource,
        account: text('Account id of the caller; empty if anonymous.'),
        domain: text(
          `Namespace of the service; empty for ${DEFAULT_NAMESPACE}, whose rules must also grant the call.`,
        ),
        options: Options,
      }),
      response: Type.Object({
        granted: Type.Boolean(),
        rule: Type.Optional(RuleView),
        namespace: Type.String({ description: 'Namespace of the deciding rule.' }),
        warning: Warning,
      }),
      async handle({ resource: input, account: id, domain, options }, ctx) {
        const errorId = idOf(ctx)
        const namespace = namespaceOf(options, ctx)
        const caller = mustBeMember(ctx, namespace, errorId)
        if (id !== '' && id !== caller.id) mustBeAdmin(ctx, namespace, errorId)
        const resource = toResource(input, 'request.resource', errorId)
        const account = id === '' ? undefined : await accounts.find(namespace, id)
        if (id !== '' && account === undefined)
          throw badRequest(errorId, 'Account not found with this ID')
        if (
          isAlwaysAllowed(account, { ...resource, endpoint: toComparableName(resource.endpoint) })
        )
          return { granted: true, namespace: DEFAULT_NAMESPACE }
        const namespaces = toNamespaces(namespace).filter(
          (each) => domain === '' || domain === each,
        )
        const mismatch = await findMismatch(findService, namespaces, resource)
        const warning = mismatch === undefined ? {} : { warning: mismatch }
        const evaluate = async (policyDomain: string) => {
          const policy = new Policy(policyDomain, await rules.list(policyDomain, ctx.signal))
          const { type, name, endpoint } = resource
          const { granted, rule } = policy
            .caller(account)
            .access(type, name, toComparableName(endpoint))
          return rule === undefined
            ? { granted, namespace: policyDomain, ...warning }
            : { granted, rule, namespace: policyDomain, ...warning }
        }
        const result = await evaluate(namespace)
        // Same order as in `judgeCall`.
        const isGeneral = domain === '' || domain === DEFAULT_NAMESPACE
        return result.granted && isGeneral && namespace !== DEFAULT_NAMESPACE
          ? evaluate(DEFAULT_NAMESPACE)
          : result
      },
    }),

    watch: endpoint({
      readOnly: true,
      description:
        'Streams the rules of the namespace, immediately and after each change, for services and administrators.',
      request: Type.Object({ options: Options }),
      response: UpdateMessage,
      stream: 'server',
      handle({ options }, ctx) {
        const namespace = namespaceOf(options, ctx)
        mustBeEnforcer(ctx, namespace)
        return watchers.open(ctx, idOf(ctx), (signal) => streamRules(namespace, signal))
      },
    }),

    watchNamespaces: endpoint({
      readOnly: true,
      description:
        'Streams the names of namespaces with rules, immediately and after each change, for services and administrators of the platform. Namespaces without rules allow everything.',
      response: NamesUpdate,
      stream: 'server',
      handle(_, ctx) {
        mustBeEnforcer(ctx, DEFAULT_NAMESPACE)
        return watchers.open(ctx, idOf(ctx), streamNamespaces)
      },
    }),
  }
}

/** Returns the namespaces whose services a call reaches. */
function toNamespaces(namespace: string): readonly string[] {
  return namespace === DEFAULT_NAMESPACE ? [namespace] : [namespace, DEFAULT_NAMESPACE]
}

/** Splits a list into pages. There is always at least one page, which may be empty. */
function toPages<T>(all: readonly T[]): readonly { page: readonly T[]; more: boolean }[] {
  return Array.from({ length: Math.max(1, Math.ceil(all.length / PAGE)) }, (_, i) => {
    const end = (i + 1) * PAGE
    return { page: all.slice(end - PAGE, end), more: end < all.length }
  })
}

/**
 * Denies callers that do not enforce rules. Services and administrators enforce rules. Services of
 * `mx` enforce the rules of every namespace in which they may be called.
 *
 * @throws {GatewayError} 401, 403
 */
function mustBeEnforcer(ctx: Context, namespace: string): void {
  const { account } = ctx
  const isPlatformAccount = account?.issuer === DEFAULT_NAMESPACE && isEnforcer(account)
  if (!isPlatformAccount && !isEnforcer(mustBeMember(ctx, namespace, idOf(ctx))))
    mustBeService(ctx, namespace, idOf(ctx))
}

/**
 * Denies `force` to administrators of namespaces other than `mx`. They belong to the namespace of
 * the call, so the status is not 403.
 *
 * @throws {GatewayError} 401
 */
function mustBeAllowedToForce(caller: Account, errorId: string): void {
  if (!isOperator(caller))
    throw toMissingScope(errorId, ADMIN, DEFAULT_NAMESPACE, ' when force is set')
}

/** Returns the complete text of a rule for the audit, because the rule may change later. */
function describe({ id, scope, access, resource, priority }: Rule): string {
  const { type, name, endpoint } = resource
  return `${id}: ${access} ${type}:${name}:${endpoint} scope "${scope}" priority ${priority}`
}
