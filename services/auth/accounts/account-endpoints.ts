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

/** Endpoints of the `Accounts` handler (reference 2.1). */
export function createAccountEndpoints(options: AccountEndpointsOptions): Endpoints {
  const { accounts, attemptLogin, audit } = options
  let deletion: Promise<unknown> = Promise.resolve()

  /**
   * Deletes accounts one at a time: two administrators deleting each other concurrently would leave
   * no administrator.
   *
   * @throws {GatewayError} 401 if the caller was deleted in the meantime.
   */
  async function remove(
    caller: { readonly issuer: string; readonly id: string },
    account: { readonly namespace: string; readonly id: string },
    errorId: string,
  ): Promise<boolean> {
    const isStored = async () => (await accounts.find(caller.issuer, caller.id)) !== undefined
    const wasStored = await isStored()
    const deleted = deletion.then(async () => {
      if (wasStored && !(await isStored())) throw invalidToken(errorId)
      return accounts.delete(account.namespace, account.id, errorId)
    })
    deletion = deleted.catch(() => {})
    return deleted
  }

  return {
    list: endpoint({
      readOnly: true,
      description: 'Lists accounts sorted by id, paginated, without secrets.',
      request: Type.Object({
        options: Options,
        limit: Type.Integer({
          minimum: 0,
          default: 0,
          description: `Page size; 0 for ${MAX_PAGE}.`,
        }),
        after: text('Cursor, taken from next of the previous page.'),
      }),
      response: Type.Object({
        accounts: Type.Array(AccountView),
        next: Type.Optional(
          Type.String({ description: 'Cursor of the next page; absent on the last page.' }),
        ),
      }),
      async handle({ options, limit: requested, after }, ctx) {
        const namespace = namespaceOf(options, ctx)
        mustBeAdmin(ctx, namespace, idOf(ctx))
        const pageSize = Math.min(requested || MAX_PAGE, MAX_PAGE)
        const query = { limit: pageSize, ...(after !== '' && { after }) }
        const page = await accounts.list(namespace, query, ctx.signal)
        const views = page.accounts.map(toMessage)
        return page.next === undefined ? { accounts: views } : { accounts: views, next: page.next }
      },
    }),

    delete: endpoint({
      description: 'Deletes an account and revokes its tokens.',
      request: Type.Object({ id: text('Account id.'), options: Options }),
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
        'Changes the secret of an account and revokes its tokens. Administrators do not need the old secret of other accounts.',
      idempotent: false,
      request: Type.Object({
        id: text('Account id.'),
        old_secret: secret('Current secret.'),
        new_secret: secret('New secret.'),
        options: Options,
      }),
      response: Type.Object({}),
      async handle({ id, old_secret: old, new_secret, options }, ctx) {
        const errorId = idOf(ctx)
        const namespace = namespaceOf(options, ctx)
        const caller = mustBeMember(ctx, namespace, errorId)
        if (id === '') throw badRequest(errorId, 'ID missing')
        if (new_secret === '') throw badRequest(errorId, 'New secret should not be blank')
        // The account name is also accepted instead of the id.
        const target = (await accounts.find(namespace, id))?.id ?? id
        const isSelf = caller.issuer === namespace && caller.id === target
        if (isSelf && old === '')
          throw badRequest(errorId, 'request.old_secret is required to change your own secret')
        const secrets = { old: old === '' ? undefined : old, new: new_secret }
        if (secrets.old === undefined) mustBeAdmin(ctx, namespace, errorId)
        await attemptLogin(ctx, { namespace, id: target }, (slot) =>
          accounts.changeSecret(namespace, target, secrets, errorId, slot),
        )
        audit(ctx, 'account.change-secret', { namespace, target })
        return {}
      },
    }),
  }
}
