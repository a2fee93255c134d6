import { GatewayError } from '../../core/errors.ts'
import type { Environment } from '../session/environments.ts'
import { listServices } from '../session/find-services.ts'
import { openSession, type Session, type SessionFlags } from '../session/session.ts'
import { findReason } from '../ui/explain-connection.ts'
import { CliError } from '../ui/output.ts'
import type { Finding } from './finding.ts'

export interface CheckedServer {
  /** No server answers in the environment `local`: `mx server` would start one, on ports that have to be free. */
  readonly canStart: boolean
  readonly findings: readonly Finding[]
}

/** Clocks may differ by less before tokens are refused that should be taken. */
const CLOCK_MAX_S = 30

/** Asks the server of an environment. Never throws for what it says. */
export async function checkServer(flags: SessionFlags): Promise<CheckedServer> {
  let session: Session
  try {
    session = openSession(flags)
  } catch (error) {
    const { message: found } = error as Error
    // What is damaged says itself what to do.
    const advice = error instanceof CliError && { advice: 'see mx env' }
    return { canStart: false, findings: [{ what: 'environment', state: 'bad', found, ...advice }] }
  }
  const { environment } = session
  const what = `server ${environment.name} (${environment.address})`
  try {
    const services = await listServices(session)
    return {
      canStart: false,
      findings: [
        { what, state: 'ok', found: 'answers' },
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
        { what, state: 'ok', found: 'answers' },
        { what: 'login', state: 'bad', found: error.message, advice: 'mx login' },
      ],
    }
  // A service that is not found is told by a server that is there.
  const isAway = cause instanceof GatewayError && cause.code === 502
  if (!isAway)
    return {
      canStart: false,
      findings: [{ what, state: 'bad', found: error.message, advice: 'see the log of the server' }],
    }
  const reason = findReason(cause, address)
  const start = name === 'local' ? 'start one: mx server' : `see mx env, or mx --env local`
  const [found, advice] =
    reason === undefined ? ['nobody answers', start] : [`no connection: ${reason}`, 'see mx env']
  return { canStart: name === 'local', findings: [{ what, state: 'bad', found, advice }] }
}

function checkRegistry(count: number): Finding {
  const what = 'registry'
  if (count > 0) return { what, state: 'ok', found: `${count} services` }
  return {
    ...{ what, state: 'bad', found: 'no services, not even built-in ones' },
    advice: 'is it the registry the server uses? See mx server --help, --registry',
  }
}

/** Who is logged in, and whether the clock is that of the server, as its tokens tell. */
async function checkLogin(session: Session): Promise<readonly Finding[]> {
  const { account, environment } = session
  const what = 'login'
  if (account === '')
    return [{ what, state: 'note', found: 'nobody is logged in', advice: 'mx login' }]
  const token = await session.token()
  if (token === undefined)
    return [{ what, state: 'bad', found: `that of ${account} has ended`, advice: 'mx login' }]
  const ok: Finding = { what, state: 'ok', found: `${account} at ${environment.name}` }
  return [ok, checkClock(token, Date.now() / 1000)]
}

/**
 * Compares the clock with the times in a token the server has just accepted: it cannot be issued in the future or expired. One
 * that looks expired was renewed just now, so that its issue time is the time of the server.
 */
export function checkClock(token: string, nowS: number): Finding {
  const what = 'clock'
  const { iat = nowS, exp = nowS } = readClaims(token)
  const behindS = iat - nowS
  const aheadS = nowS - exp > CLOCK_MAX_S ? nowS - iat : 0
  const off = Math.max(behindS, aheadS)
  if (off <= CLOCK_MAX_S) return { what, state: 'ok', found: 'agrees with that of the server' }
  return {
    ...{
      what,
      state: 'bad',
      found: `${Math.round(off)} s ${behindS > 0 ? 'behind' : 'ahead of'} the server`,
    },
    advice: 'set it by a time server: timedatectl set-ntp true',
  }
}

function readClaims(token: string): { readonly iat?: number; readonly exp?: number } {
  try {
    return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  } catch {
    return {}
  }
}
