import { invalidToken } from '../../../core/auth/policy/decision.ts'
import { Type } from '../../../core/schema.ts'
import { mustBeAdmin, mustBeMember } from '../../../sdk/auth/account-checks.ts'
import { badRequest } from '../../../sdk/errors.ts'
import { type Endpoints, endpoint } from '../../../sdk/service/endpoint.ts'
import type { Audit } from '../audit.ts'
import type { AttemptLogin } from '../login-throttle.ts'
import { AccountView, idOf, namespaceOf, Options, secret, text, toMessage } from '../messages.ts'
import type { Accounts } from './accounts.ts'

export interface AccountEndpointsOptions {
  readonly accounts: Accounts
  readonly attemptLogin: AttemptLogin
  readonly audit: Audit
}

const MAX_PAGE = 1000

/** What the handler `Accounts` offers (reference 2.1). */
export function createAccountEndpoints(options: AccountEndpointsOptions): Endpoints {
  const { accounts, attemptLogin, audit } = options
  let deletion: Promise<unknown> = Promise.resolve()

  /**
   * Deletes an account, one at a time: two administrators that delete each other at once would leave none.
   *
   * @throws {GatewayError} 401 for a caller that was deleted meanwhile.
   */
  async function remove(
    caller: { readonly issuer: string; readonly id: string },
    account: { readonly namespace: string; readonly id: string },
    errorId: string,
  ): Promise<boolean> {
    const isStored = async () => (await accounts.find(caller.issuer, caller.id)) !== undefined
    const wasStored = await isStored()
    const done = deletion.then(async () => {
      if (wasStored && !(await isStored())) throw invalidToken(errorId)
      return accounts.delete(account.namespace, account.id, errorId)
    })
    deletion = done.catch(() => {})
    return done
  }

  return {
    list: endpoint({
      readOnly: true,
      description: 'Accounts in the order of their ids, a page at a time, without secrets.',
      request: Type.Object({
        options: Options,
        limit: Type.Integer({ minimum: 0, default: 0, description: `Most; ${MAX_PAGE} where 0.` }),
        after: text('Id behind which to go on: the next of a page.'),
      }),
      response: Type.Object({
        accounts: Type.Array(AccountView),
        next: Type.Optional(Type.String({ description: 'There are more: list after this id.' })),
      }),
      async handle({ options, limit: wanted, after }, ctx) {
        const namespace = namespaceOf(options, ctx)
        mustBeAdmin(ctx, namespace, idOf(ctx))
        const most = Math.min(wanted || MAX_PAGE, MAX_PAGE)
        const query = { limit: most, ...(after !== '' && { after }) }
        const page = await accounts.list(namespace, query, ctx.signal)
        const told = page.accounts.map(toMessage)
        return page.next === undefined ? { accounts: told } : { accounts: told, next: page.next }
      },
    }),

    delete: endpoint({
      description: 'Deletes an account; what was issued to it counts for nothing.',
      request: Type.Object({ id: text('Of the account.'), options: Options }),
      response: Type.Object({}),
      async handle({ id, options }, ctx) {
        const errorId = idOf(ctx)
        const namespace = namespaceOf(options, ctx)
        const caller = mustBeAdmin(ctx, namespace, errorId)
        if (id === '') throw badRequest(errorId, 'Missing ID')
        if (caller.issuer === namespace && caller.id === id)
          throw badRequest(errorId, "Can't delete your own account")
        const account = await accounts.find(namespace, id)
        if (account?.id !== id || !(await remove(caller, { namespace, id }, errorId)))
          throw badRequest(errorId, 'Account not found with this ID')
        audit(ctx, 'account.delete', { namespace, target: id })
        return {}
      },
    }),

    changeSecret: endpoint({
      description:
        'Changes what an account logs in with; what was issued to it counts for nothing. Administrators need not know the old secret of others.',
      idempotent: false,
      request: Type.Object({
        id: text('Of the account.'),
        old_secret: secret('What it logs in with now.'),
        new_secret: secret('What it logs in with from now on.'),
        options: Options,
      }),
      response: Type.Object({}),
      async handle({ id, old_secret: old, new_secret, options }, ctx) {
        const errorId = idOf(ctx)
        const namespace = namespaceOf(options, ctx)
        const caller = mustBeMember(ctx, namespace, errorId)
        if (id === '') throw badRequest(errorId, 'ID missing')
        if (new_secret === '') throw badRequest(errorId, 'New secret should not be blank')
        // By its name, too.
        const target = (await accounts.find(namespace, id))?.id ?? id
        const isOwn = caller.issuer === namespace && caller.id === target
        if (isOwn && old === '')
          throw badRequest(errorId, 'request.old_secret must be given: the account is your own')
        const secrets = { old: old === '' ? undefined : old, new: new_secret }
        if (secrets.old === undefined) mustBeAdmin(ctx, namespace, errorId)
        await attemptLogin(ctx, { namespace, id: target }, (turn) =>
          accounts.changeSecret(namespace, target, secrets, errorId, turn),
        )
        audit(ctx, 'account.change-secret', { namespace, target })
        return {}
      },
    }),
  }
}
