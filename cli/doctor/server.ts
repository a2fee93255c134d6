import { GatewayError } from '../../core/errors.ts'
import type { Environment } from '../session/environments.ts'
import { listServices } from '../session/find-services.ts'
import { openSession, type Session, type SessionFlags } from '../session/session.ts'
import { findReason } from '../ui/explain-connection.ts'
import { CliError } from '../ui/output.ts'
import type { Finding } from './finding.ts'

export interface CheckedServer {
  /** True if the environment `local` has no server, so that `mx server` can be started and needs its ports. */
  readonly canStart: boolean
  readonly findings: readonly Finding[]
}

/** Clock difference in seconds from which valid tokens are rejected. */
const CLOCK_MAX_S = 30

/** Checks the server of an environment. Does not throw if the server is unreachable. */
export async function checkServer(flags: SessionFlags): Promise<CheckedServer> {
  let session: Session
  try {
    session = openSession(flags)
  } catch (error) {
    const { message: found } = error as Error
    // The error for a damaged file already contains advice.
    const advice = error instanceof CliError && { advice: 'see mx env' }
    const finding: Finding = { what: 'environment', state: 'bad', found, ...advice }
    return { canStart: false, findings: [finding] }
  }
  const { environment } = session
  const what = `server ${environment.name} (${environment.address})`
  try {
    const services = await listServices(session)
    return {
      canStart: false,
      findings: [
        { what, state: 'ok', found: 'reachable' },
        checkRegistry(services.length),
        ...(await checkLogin(session)),
      ],
    }
  } catch (error) {
    return explain(what, environment, error as Error)
  } finally {
    session.close()
  }
}

function explain(what: string, { name, address }: Environment, error: Error): CheckedServer {
  const { cause } = error
  if (cause instanceof GatewayError && cause.code === 401)
    return {
      canStart: false,
      findings: [
        { what, state: 'ok', found: 'reachable' },
        { what: 'login', state: 'bad', found: error.message, advice: 'mx login' },
      ],
    }
  const isUnreachable = cause instanceof GatewayError && cause.code === 502
  const advice = 'see the log of the server'
  if (!isUnreachable)
    return {
      canStart: false,
      findings: [{ what, state: 'bad', found: error.message, advice }],
    }
  const reason = findReason(cause, address)
  const start = name === 'local' ? 'start it with mx server' : 'see mx env, or use mx --env local'
  return {
    canStart: name === 'local',
    findings: [
      reason === undefined
        ? { what, state: 'bad', found: 'unreachable: connection refused', advice: start }
        : { what, state: 'bad', found: `unreachable: ${reason}`, advice: 'see mx env' },
    ],
  }
}

function checkRegistry(count: number): Finding {
  const what = 'registry'
  if (count > 0) return { what, state: 'ok', found: `${count} services` }
  return {
    ...{ what, state: 'bad', found: 'empty, even built-in services are missing' },
    advice: 'compare it with --registry of the server',
  }
}

/** Checks the login, and compares the clock with the times in its token. */
async function checkLogin(session: Session): Promise<readonly Finding[]> {
  const { account, environment } = session
  const what = 'login'
  if (account === '') return [{ what, state: 'note', found: 'not logged in', advice: 'mx login' }]
  const token = await session.token()
  if (token === undefined)
    return [{ what, state: 'bad', found: `login of ${account} expired`, advice: 'mx login' }]
  const ok: Finding = { what, state: 'ok', found: `${account} at ${environment.name}` }
  return [ok, checkClock(token, Date.now() / 1000)]
}

/**
 * Compares the clock with the times in a token that the server has just accepted, which therefore cannot be expired or
 * issued in the future. If the token looks expired, it was just renewed, and its issue time is the server's current
 * time.
 */
export function checkClock(token: string, nowS: number): Finding {
  const what = 'clock'
  const { iat = nowS, exp = nowS } = readClaims(token)
  const behindS = iat - nowS
  const aheadS = nowS - exp > CLOCK_MAX_S ? nowS - iat : 0
  const off = Math.max(behindS, aheadS)
  if (off <= CLOCK_MAX_S) return { what, state: 'ok', found: 'in sync with the server' }
  return {
    ...{
      what,
      state: 'bad',
      found: `${Math.round(off)} s ${behindS > 0 ? 'behind' : 'ahead of'} the server`,
    },
    advice: 'synchronize it: timedatectl set-ntp true',
  }
}

function readClaims(token: string): { readonly iat?: number; readonly exp?: number } {
  try {
    return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  } catch {
    return {}
  }
}
