import { isOperator } from '../../../core/auth/policy/account-rights.ts'
import { DEFAULT_RULE } from '../../../core/auth/policy/default-rule.ts'
import { Policy, type SubjectRules } from '../../../core/auth/policy/policy.ts'
import type { Rule } from '../../../core/contracts/auth.ts'
import { noQuota, type Quota } from '../../../core/limits/quota.ts'
import { commitIf } from '../../../domain/store/commit-if.ts'
import { encodeRecord } from '../../../domain/store/json-record.ts'
import { readAll } from '../../../domain/store/read-all.ts'
import type { Store, StoreWrite } from '../../../domain/store/store.ts'
import { badRequest, conflict, unavailable } from '../../../sdk/errors.ts'
import { checkCount } from '../accounts/quotas.ts'
import {
  AUTH_TABLE,
  parseRuleRecord,
  RULES_HEADS_PREFIX,
  toRuleKey,
  toRulesHeadKey,
  toRulesPrefix,
} from '../records.ts'

/** Maximum number of attempts under contention. */
const ATTEMPTS_MAX = 50
const RULES_MAX = 10_000

export interface RuleChange {
  /**
   * Whether to apply the change even if no account can log in afterwards or the caller cannot undo
   * it.
   *
   * @default false
   */
  readonly force?: boolean
  /** Account whose access must be preserved by the change. @default none */
  readonly caller?: SubjectRules
}

/**
 * Rules of all namespaces. Errors contain the id passed by the caller; invalid input fails with
 * 400.
 */
export interface Rules {
  /** Returns the names of namespaces with changed rules. */
  readonly namespaces: (signal?: AbortSignal) => Promise<readonly string[]>
  /**
   * Lists the rules sorted by id. Returns the default rule if they were never changed: the default
   * is only stored with the first change, so that reads write nothing.
   */
  readonly list: (namespace: string, signal?: AbortSignal) => Promise<readonly Rule[]>
  /**
   * @throws {GatewayError} 409 if {@link RuleChange.force} is required; 429 with the name of the
   * quota.
   */
  readonly create: (
    namespace: string,
    rule: Rule,
    change: RuleChange,
    errorId: string,
  ) => Promise<void>
  /** @throws {GatewayError} same errors as `create`. */
  readonly delete: (
    namespace: string,
    id: string,
    change: RuleChange,
    errorId: string,
  ) => Promise<void>
}

/** @param quota limit of rules created by callers who are not operators. @default no limits */
export function createRules(store: Store, quota: Quota = noQuota('quota_rules')): Rules {
  /** Returns a consistent snapshot, because each change rewrites the head. */
  async function read(
    namespace: string,
    signal?: AbortSignal,
  ): Promise<{ readonly rules: readonly Rule[]; readonly version: number }> {
    for (let i = 0; i < ATTEMPTS_MAX; i++) {
      const version = await readVersion(namespace)
      if (version === 0) return { rules: [DEFAULT_RULE], version }
      const records = await readAll(store, AUTH_TABLE, toRulesPrefix(namespace), signal)
      if ((await readVersion(namespace)) === version)
        return { rules: records.map(parseRuleRecord), version }
    }
    throw unavailable('auth', `the rules of ${namespace} are changing concurrently, try again`)
  }

  /** Returns the version of a namespace's rules; 0 if they were never changed. */
  async function readVersion(namespace: string): Promise<number> {
    return (await store.read(AUTH_TABLE, toRulesHeadKey(namespace)))?.version ?? 0
  }

  /** Serializes changes to a namespace's rules. */
  async function change(
    namespace: string,
    errorId: string,
    edit: (rules: readonly Rule[]) => {
      readonly write: StoreWrite
      readonly after: readonly Rule[]
    },
    { force = false, caller }: RuleChange,
  ): Promise<void> {
    for (let i = 0; i < ATTEMPTS_MAX; i++) {
      const { rules, version } = await read(namespace)
      const { write, after } = edit(rules)
      const lostAccess = force ? undefined : findLostAccess(namespace, caller, [rules, after])
      if (lostAccess !== undefined)
        throw conflict(
          errorId,
          `${lostAccess}; set request.force (mx auth: --force) to apply it anyway`,
        )
      const head = {
        table: AUTH_TABLE,
        key: toRulesHeadKey(namespace),
        value: encodeRecord({}),
        ifVersion: version,
      }
      const first =
        version === 0 && write.key !== toRuleKey(namespace, DEFAULT_RULE.id)
          ? [toWrite(namespace, DEFAULT_RULE)]
          : []
      if ((await commitIf(store, [head, ...first, write])) !== undefined) return
    }
    throw unavailable(errorId, 'the rules are changing concurrently, try again')
  }

  return {
    async namespaces(signal) {
      const heads = await readAll(store, AUTH_TABLE, RULES_HEADS_PREFIX, signal)
      return heads.map(({ key }) => key.slice(RULES_HEADS_PREFIX.length))
    },

    async list(namespace, signal) {
      return (await read(namespace, signal)).rules
    },

    async create(namespace, rule, options, errorId) {
      // The caller is the server itself or an operator.
      const isPrivileged = options.caller === undefined || isOperator(options.caller)
      const edit = (rules: readonly Rule[]) => {
        if (rules.some(({ id }) => id === rule.id))
          throw badRequest(errorId, 'A rule with this ID already exists')
        if (rules.length >= RULES_MAX)
          throw badRequest(errorId, `a namespace has at most ${RULES_MAX} rules`)
        if (!isPrivileged) {
          const count = { namespace, used: rules.length, limit: quota.limitOf(namespace) }
          checkCount(quota, { ...count, resource: 'rules' }, errorId)
        }
        const write = { ...toWrite(namespace, rule), mayUseReserve: isPrivileged }
        return { write, after: [...rules, rule] }
      }
      await change(namespace, errorId, edit, options)
    },

    async delete(namespace, id, options, errorId) {
      const edit = (rules: readonly Rule[]) => {
        const after = rules.filter((rule) => rule.id !== id)
        if (after.length === rules.length) throw badRequest(errorId, 'Rule not found')
        return { write: { table: AUTH_TABLE, key: toRuleKey(namespace, id) }, after }
      }
      await change(namespace, errorId, edit, options)
    },
  }
}

function toWrite(namespace: string, rule: Rule): StoreWrite {
  return { table: AUTH_TABLE, key: toRuleKey(namespace, rule.id), value: encodeRecord(rule) }
}

/**
 * Returns the access that a change would remove from operators or the caller, or undefined if none.
 */
function findLostAccess(
  namespace: string,
  caller: SubjectRules | undefined,
  versions: readonly [before: readonly Rule[], after: readonly Rule[]],
): string | undefined {
  const [before, after] = versions.map((rules) => new Policy(namespace, rules))
  if (canLogIn(before!) && !canLogIn(after!))
    return 'no rule allows logins after this change: only operators can log in'
  // Rules of this namespace do not apply to accounts of other namespaces, and no rule can deny
  // operators.
  if (caller?.issuer !== namespace || isOperator(caller)) return undefined
  if (canChange(before!, caller) && !canChange(after!, caller))
    return 'this change would prevent you from changing rules and from undoing it; add a rule that grants you Rules.Create and Rules.Delete of auth'
  return undefined
}

/** Returns whether anonymous callers may request a token. */
function canLogIn(policy: Policy): boolean {
  return policy.caller(undefined).call('auth', 'Auth.Token').granted
}

/** Returns whether the rules allow an account to create and delete rules. */
function canChange(policy: Policy, account: SubjectRules): boolean {
  const caller = policy.caller(account)
  return ['Rules.Create', 'Rules.Delete'].every((endpoint) => caller.call('auth', endpoint).granted)
}
