import { GatewayError } from '../../core/errors.ts'
import type { ExplainedRequest } from '../../platform/gateway/routing/explained-request.ts'
import type { ExplainedStage, Explanation } from '../../platform/gateway/routing/explanation.ts'
import { withSession } from '../session/session.ts'

/** Response of `Api.Explain` (docs/api.md). */
interface ExplainReply
  extends Pick<
    Explanation,
    'namespace' | 'account' | 'endpoints' | 'settings' | 'why' | 'known' | 'target' | 'host'
  > {
  readonly handler: string
  readonly stages: readonly {
    readonly plugin: string
    readonly hook: string
    readonly scope: NonNullable<ExplainedStage['scope']> | ''
    readonly source: string
  }[]
  readonly route?: NonNullable<Explanation['route']> & { readonly name?: string }
  readonly rulings: readonly {
    readonly namespace: string
    readonly resource: string
    readonly granted: boolean
    readonly rule: string
  }[]
  readonly nodes: NonNullable<Explanation['nodes']>
  readonly sent_to: string
  readonly answer?: { readonly status: number; readonly id: string; readonly detail: string }
}

/** Explanation from a server, which returns only the ids of rules. */
export type ServerExplanation = Omit<Explanation, 'stages' | 'rulings' | 'route'> & {
  readonly stages: readonly (Omit<ExplainedStage, 'hook'> & { readonly hook: string })[]
  readonly route: ExplainReply['route'] | undefined
  readonly rulings: readonly (Omit<Explanation['rulings'][number], 'rule'> & {
    readonly rule: { readonly id: string } | undefined
  })[]
}

/**
 * Explains a request with the configuration, plugins, services and rules of a running server.
 *
 * @param env @default the selected environment
 * @throws {CliError} if the caller lacks the `admin` scope
 */
export async function explainAtServer(
  { method, path, headers, body = '', secure, listener = '', client = '' }: ExplainedRequest,
  env: string | undefined,
): Promise<ServerExplanation> {
  let reply: ExplainReply | undefined
  await withSession(env === undefined ? {} : { env }, async ({ call }) => {
    const request = {
      ...{ method, path, headers: joinHeaders(headers), body, listener },
      ...(secure !== undefined && { secure }),
      // Earlier servers do not have this endpoint.
      ...(client !== '' && { client }),
    }
    reply = await call<ExplainReply>('api', 'Api.Explain', request)
  })
  return toExplanation(reply!)
}

function toExplanation(reply: ExplainReply): ServerExplanation {
  const { stages, route, rulings, answer, sent_to, ...rest } = reply
  return {
    ...rest,
    stages: stages.map(({ plugin, hook, scope, source }) => ({
      ...{ plugin: plugin || undefined, hook },
      ...(scope !== '' && { scope, source }),
    })),
    route,
    routeName: route?.name,
    handler: reply.handler || undefined,
    rulings: rulings.map(({ rule, ...ruling }) => ({
      ...ruling,
      rule: rule === '' ? undefined : { id: rule },
    })),
    sentTo: sent_to || undefined,
    answer: answer && {
      status: answer.status,
      body: answer.id === '' ? answer.detail : '',
      error:
        answer.id === '' ? undefined : new GatewayError(answer.id, answer.status, answer.detail),
    },
  }
}

/** Joins repeated headers (RFC 9110 section 5.3, RFC 6265 section 5.4). */
function joinHeaders(headers: ExplainedRequest['headers']): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      [value].flat().join(name === 'cookie' ? '; ' : ', '),
    ]),
  )
}
