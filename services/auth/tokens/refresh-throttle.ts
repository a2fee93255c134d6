import type { Account } from '../../../core/contracts/auth.ts'
import { toNetwork } from '../../../core/limits/client-network.ts'
import type { Context } from '../../../sdk/context.ts'
import { type Audit, addressOf } from '../audit.ts'
import { createOnceAMinute } from '../audit-throttle.ts'
import { idOf } from '../messages.ts'
import type { TokenPair, Tokens } from './tokens.ts'

/** Exchanges a refresh token. Each that was used up before is told; of those that are not known, one a minute from wherever they come. */
export type AttemptRefresh = (
  ctx: Context,
  given: {
    /** Of the call: what is not known is nobody's. */
    readonly namespace: string
    readonly token: string
    readonly lifeS: number
  },
  /** Throws for an account that may not log in: its token is not used up then. */
  mustBeAllowed: (account: Account) => void,
) => Promise<TokenPair>

export interface AttemptRefreshOptions {
  readonly tokens: Pick<Tokens, 'refresh'>
  readonly audit: Audit
  /** Unix time. */
  readonly nowMs: () => number
}

export function createAttemptRefresh(options: AttemptRefreshOptions): AttemptRefresh {
  const { tokens, audit, nowMs } = options
  const isFirst = createOnceAMinute(nowMs)
  return (ctx, { namespace, token, lifeS }, mustBeAllowed) =>
    tokens.refresh(token, { lifeS, errorId: idOf(ctx), mustBeAllowed }, (why, family) => {
      const what = { namespace: family?.namespace ?? namespace, target: family?.account ?? '' }
      if (why === 'reused') audit(ctx, 'token.reused', what)
      else if (isFirst(toNetwork(addressOf(ctx)))) audit(ctx, 'refresh.failed', what)
    })
}
