import type { ComponentChildren, JSX } from 'preact'
import { Badge } from '../components/badge.tsx'
import { Link } from '../state/router.ts'
import type { Explained } from './messages.ts'

export interface ExplanationProps {
  readonly method: string
  readonly path: string
  readonly explained: Explained
}

/** What a request would meet on its way, from the first stage to who answers it. */
export function Explanation({ method, path, explained }: ExplanationProps): JSX.Element {
  const { stages, namespace, account, route, rulings, nodes, sent_to } = explained
  return (
    <section class="card" aria-label="Explanation">
      <h2 class="mono">
        {method} {path}
      </h2>
      <Outcome explained={explained} />
      <dl class="facts">
        <dt>Came through</dt>
        <dd>
          <ol class="stages">
            {stages.map(({ plugin, hook }, i) => (
              <li key={i}>
                <Badge tone={i === stages.length - 1 ? 'accent' : 'neutral'}>
                  {plugin === '' ? hook : `${plugin} ${hook}`}
                </Badge>
              </li>
            ))}
          </ol>
        </dd>
        <Fact title="Caller">{account || 'nobody that is known'}</Fact>
        <Fact title="Namespace of names">{namespace || 'none'}</Fact>
        <Fact title="Route">
          {route === undefined ? (
            'none was found'
          ) : (
            <>
              <Link to={`/services/${encodeURIComponent(route.service)}`}>{route.service}</Link>{' '}
              {route.endpoint}
              {route.variables.map(({ name, value }) => (
                <code key={name}>
                  {' '}
                  {name}={value}
                </code>
              ))}
            </>
          )}
        </Fact>
        {rulings.map(({ resource, granted, rule, namespace }) => (
          <Fact key={`${namespace} ${resource}`} title="Rule">
            <Badge tone={granted ? 'good' : 'bad'}>{granted ? 'granted' : 'denied'}</Badge>{' '}
            {rule === '' ? 'no rule applies' : `by rule ${rule}`} of {namespace}, for{' '}
            <code>{resource}</code>
          </Fact>
        ))}
        {route !== undefined && (
          <Fact title="Nodes">
            {nodes.length === 0 && 'none'}
            <ul>
              {nodes.map(({ id, address, protocol, draining }) => (
                <li key={id}>
                  <code>{address}</code> ({protocol}
                  {draining && ', draining'}) {id === sent_to && <Badge tone="good">next</Badge>}
                </li>
              ))}
            </ul>
          </Fact>
        )}
      </dl>
    </section>
  )
}

function Fact({
  title,
  children,
}: {
  readonly title: string
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    <>
      <dt>{title}</dt>
      <dd>{children}</dd>
    </>
  )
}

function Outcome({ explained }: { readonly explained: Explained }): JSX.Element {
  const { answer, sent_to, route, why } = explained
  if (answer === undefined)
    return (
      <p>
        <Badge tone="good">{sent_to === 'topic' ? 'published' : 'sent on'}</Badge>{' '}
        {sent_to === 'topic' ? 'as an event of ' : 'to '}
        {route?.service}
      </p>
    )
  return (
    <>
      <p>
        <Badge tone={answer.status >= 400 ? 'bad' : 'accent'}>{answer.status}</Badge>{' '}
        {answer.detail || 'answered by the gateway itself'}
      </p>
      {why !== '' && <p class="explain-why">{why}</p>}
    </>
  )
}
