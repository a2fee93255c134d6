import type { LoginLimit } from '../../core/auth/token/login-limit.ts'
import type { HashSlot } from '../../core/auth/token/secret-hash.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Context } from '../../sdk/context.ts'
import { type Audit, addressOf } from './audit.ts'
import { idOf } from './messages.ts'

/** Does what needs a secret of an account, `id`: with too many that were wrong it is refused. Each that was wrong is told, and that others are refused. */
export type AttemptLogin = <T>(
  ctx: Context,
  what: { readonly namespace: string; readonly id: string },
  logIn: (turn: HashSlot) => Promise<T>,
) => Promise<T>

/** Wrong credentials, and an account that the rules do not let log in. */
const FAILED: readonly number[] = [400, 401]

export function createAttemptLogin(limit: LoginLimit, audit: Audit): AttemptLogin {
  return async (ctx, { namespace, id }, logIn) => {
    const attempt = { namespace, account: id, address: addressOf(ctx) }
    const tell = (action: string): void => audit(ctx, action, { namespace, target: id })
    try {
      return await limit.run(attempt, idOf(ctx), logIn, () => tell('login.refused'))
    } catch (error) {
      if (error instanceof GatewayError && FAILED.includes(error.code)) tell('login.failed')
      throw error
    }
  }
}
