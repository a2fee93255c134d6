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
  parseRuleRecord,
  RULES_HEADS_PREFIX,
  TABLE,
  toRuleKey,
  toRulesHeadKey,
  toRulesPrefix,
} from '../records.ts'

/** Of a change that others come before each time. */
const ATTEMPTS_MAX = 50
const RULES_MAX = 10_000

/** Who changes rules, and how. */
export interface RuleChange {
  /** Even if nobody can log in any more, or who does it cannot undo it. @default false */
  readonly force?: boolean
  /** @default nobody whose rights matter */
  readonly caller?: SubjectRules
}

/** Rules of all namespaces. Each function throws errors of the id it is given: 400 for what is wrong with a request. */
export interface Rules {
  /** Names of the namespaces whose rules somebody has changed. */
  readonly namespaces: (signal?: AbortSignal) => Promise<readonly string[]>
  /** In the order of their ids; the default rule where there have never been any. Kept once the rules are changed: who only reads writes nothing. */
  readonly list: (namespace: string, signal?: AbortSignal) => Promise<readonly Rule[]>
  /** @throws {GatewayError} 409 for what asks for {@link RuleChange.force}; 429 naming the quota. */
  readonly create: (
    namespace: string,
    rule: Rule,
    change: RuleChange,
    errorId: string,
  ) => Promise<void>
  /** @throws {GatewayError} as above. */
  readonly delete: (
    namespace: string,
    id: string,
    change: RuleChange,
    errorId: string,
  ) => Promise<void>
}

/** @param quota of rules that callers who are not operators create. @default no limits */
export function createRules(store: Store, quota: Quota = noQuota('quota_rules')): Rules {
  /** All of one moment: the head is written with each change. */
  async function read(
    namespace: string,
    signal?: AbortSignal,
  ): Promise<{ readonly rules: readonly Rule[]; readonly version: number }> {
    for (let i = 0; i < ATTEMPTS_MAX; i++) {
      const version = await readVersion(namespace)
      if (version === 0) return { rules: [DEFAULT_RULE], version }
      const records = await readAll(store, TABLE, toRulesPrefix(namespace), signal)
      if ((await readVersion(namespace)) === version)
        return { rules: records.map(parseRuleRecord), version }
    }
    throw unavailable('auth', `the rules of ${namespace} change all the time, try again`)
  }

  /** Of a namespace's rules; 0: nobody has changed them yet. */
  async function readVersion(namespace: string): Promise<number> {
    return (await store.read(TABLE, toRulesHeadKey(namespace)))?.version ?? 0
  }

  /** One change of a namespace's rules after the other: each sees those before it. */
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
      const lost = force ? undefined : findLost(namespace, caller, [rules, after])
      if (lost !== undefined)
        throw conflict(
          errorId,
          `${lost}; set request.force (mx auth: --force) to do it nonetheless`,
        )
      const head = {
        table: TABLE,
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
    throw unavailable(errorId, 'too many others change the rules, try again')
  }

  return {
    async namespaces(signal) {
      const heads = await readAll(store, TABLE, RULES_HEADS_PREFIX, signal)
      return heads.map(({ key }) => key.slice(RULES_HEADS_PREFIX.length))
    },

    async list(namespace, signal) {
      return (await read(namespace, signal)).rules
    },

    async create(namespace, rule, options, errorId) {
      const edit = (rules: readonly Rule[]) => {
        if (rules.some(({ id }) => id === rule.id))
          throw badRequest(errorId, 'A rule with this ID already exists')
        if (rules.length >= RULES_MAX)
          throw badRequest(errorId, `a namespace has at most ${RULES_MAX} rules`)
        if (options.caller !== undefined && !isOperator(options.caller)) {
          const count = { namespace, used: rules.length, limit: quota.limitOf(namespace) }
          checkCount(quota, { ...count, what: 'rules' }, errorId)
        }
        return { write: toWrite(namespace, rule), after: [...rules, rule] }
      }
      await change(namespace, errorId, edit, options)
    },

    async delete(namespace, id, options, errorId) {
      const edit = (rules: readonly Rule[]) => {
        const after = rules.filter((rule) => rule.id !== id)
        if (after.length === rules.length) throw badRequest(errorId, 'Rule not found')
        return { write: { table: TABLE, key: toRuleKey(namespace, id) }, after }
      }
      await change(namespace, errorId, edit, options)
    },
  }
}

function toWrite(namespace: string, rule: Rule): StoreWrite {
  return { table: TABLE, key: toRuleKey(namespace, rule.id), value: encodeRecord(rule) }
}

/** What could be done before a change, and not after, and had better be; undefined: nothing. */
function findLost(
  namespace: string,
  caller: SubjectRules | undefined,
  versions: readonly [before: readonly Rule[], after: readonly Rule[]],
): string | undefined {
  const [before, after] = versions.map((rules) => new Policy(namespace, rules))
  if (canLogIn(before!) && !canLogIn(after!))
    return 'no rule allows logins after this change: only operators can log in'
  // Rules of this namespace do not apply to accounts of others, and no rule denies operators.
  if (caller?.issuer !== namespace || isOperator(caller)) return undefined
  if (canChange(before!, caller) && !canChange(after!, caller))
    return 'you cannot change rules after this change, nor undo it: add a rule that grants you Rules.Create and Rules.Delete of auth'
  return undefined
}

/** Whether who has no token may ask for one. */
function canLogIn(book: Policy): boolean {
  return book.caller(undefined).call('auth', 'Auth.Token').granted
}

/** Whether an account may make and delete rules, as far as rules are concerned. */
function canChange(book: Policy, account: SubjectRules): boolean {
  const caller = book.caller(account)
  return ['Rules.Create', 'Rules.Delete'].every((endpoint) => caller.call('auth', endpoint).granted)
}
