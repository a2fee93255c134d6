import { EndpointRules, toJudged } from '../core/auth/endpoint-rules.ts'
import type { Resource } from '../core/contracts/auth.ts'
import { findService } from './find-services.ts'
import type { Session } from './session.ts'

const ANY = '*'
/** Endpoints that are named in a warning. */
const MAX_NAMES = 10

/**
 * Why a rule or a tested call can never apply: the service is registered, and none of its endpoints matches.
 *
 * @returns undefined for one that may apply, and where the registry does not say.
 */
export async function findMismatch(
  session: Session,
  { type, name, endpoint }: Resource,
): Promise<string | undefined> {
  if (type !== 'service' || name === ANY || endpoint === ANY) return undefined
  const versions = await findService(session, name).catch(() => [])
  const names = new Set(versions.flatMap(({ endpoints }) => endpoints.map(({ name }) => name)))
  // Without declared endpoints, the endpoint of a request is its path.
  if (names.size === 0) return undefined
  const resource = { type, name, endpoint }
  const rules = new EndpointRules([{ id: '', scope: '', access: 'GRANTED', priority: 0, resource }])
  if ([...names].some((each) => rules.judge(toJudged(each)).granted)) return undefined
  const list = [...names].sort().slice(0, MAX_NAMES).join(', ')
  const more = names.size > MAX_NAMES ? ', …' : ''
  return `${endpoint} matches no endpoint of ${name}, which has ${list}${more}`
}
