import type { LoginLimit } from '../../core/auth/login-limit.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Context } from '../../sdk/context.ts'
import { type Audit, addressOf } from './audit.ts'
import { idOf } from './messages.ts'

/** Does what needs a secret of an account, `id`: with too many that were wrong it is refused, and each is told. */
export type AttemptLogin = <T>(
  ctx: Context,
  what: { readonly namespace: string; readonly id: string },
  logIn: () => Promise<T>,
) => Promise<T>

export function createAttemptLogin(limit: LoginLimit, audit: Audit): AttemptLogin {
  return async (ctx, { namespace, id }, logIn) => {
    const attempt = { namespace, account: id, address: addressOf(ctx) }
    try {
      return await limit.run(attempt, idOf(ctx), logIn)
    } catch (error) {
      if (error instanceof GatewayError && error.code === 400)
        audit(ctx, 'login.failed', { namespace, target: id })
      throw error
    }
  }
}
