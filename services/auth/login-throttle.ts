import type { LoginLimit } from '../../core/auth/token/login-limit.ts'
import type { HashSlot } from '../../core/auth/token/secret-hash.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Context } from '../../sdk/context.ts'
import { type Audit, addressOf } from './audit.ts'
import { idOf } from './messages.ts'

/**
 * Verifies the credentials of the account `id`. Rejects the attempt after too many failures.
 * Failures and the start of rejections are audited.
 */
export type AttemptLogin = <T>(
  ctx: Context,
  auditTarget: { readonly namespace: string; readonly id: string },
  logIn: (slot: HashSlot) => Promise<T>,
) => Promise<T>

/** Codes of failed logins: wrong credentials, or an account that the rules deny. */
const FAILED: readonly number[] = [400, 401]

export function createAttemptLogin(limit: LoginLimit, audit: Audit): AttemptLogin {
  return async (ctx, { namespace, id }, logIn) => {
    const attempt = { namespace, account: id, address: addressOf(ctx) }
    const record = (action: string): void => audit(ctx, action, { namespace, target: id })
    try {
      return await limit.run(attempt, idOf(ctx), logIn, () => record('login.refused'))
    } catch (error) {
      if (error instanceof GatewayError && FAILED.includes(error.code)) record('login.failed')
      throw error
    }
  }
}
