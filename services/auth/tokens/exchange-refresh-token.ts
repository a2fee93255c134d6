import type { Account } from '../../../core/contracts/auth.ts'
import { toNetwork } from '../../../core/limits/client-network.ts'
import type { Context } from '../../../sdk/context.ts'
import { type Audit, addressOf } from '../audit.ts'
import { createThrottle } from '../audit-throttle.ts'
import { idOf } from '../messages.ts'
import type { TokenPair, Tokens } from './tokens.ts'

/**
 * Exchanges a refresh token. Reuse is audited; unknown tokens are audited at most once a minute.
 */
export type ExchangeRefreshToken = (
  ctx: Context,
  input: {
    /** Namespace of the call, used if the token's account is unknown. */
    readonly namespace: string
    readonly token: string
    readonly lifeS: number
  },
  /** Throws if the account may not log in. Its token then remains valid. */
  mustBeAllowed: (account: Account) => void,
) => Promise<TokenPair>

export interface ExchangeRefreshTokenOptions {
  readonly tokens: Pick<Tokens, 'refresh'>
  readonly audit: Audit
  /** Unix time in milliseconds. */
  readonly nowMs: () => number
}

export function createExchangeRefreshToken(
  options: ExchangeRefreshTokenOptions,
): ExchangeRefreshToken {
  const { tokens, audit, nowMs } = options
  const isFirst = createThrottle(nowMs)
  return (ctx, { namespace, token, lifeS }, mustBeAllowed) =>
    tokens.refresh(token, { lifeS, errorId: idOf(ctx), mustBeAllowed }, (reason, family) => {
      const auditTarget = {
        namespace: family?.namespace ?? namespace,
        target: family?.account ?? '',
      }
      if (reason === 'reused') audit(ctx, 'token.reused', auditTarget)
      else if (isFirst(toNetwork(addressOf(ctx)))) audit(ctx, 'refresh.failed', auditTarget)
    })
}
