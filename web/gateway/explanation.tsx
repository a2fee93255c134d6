import type { ComponentChildren, JSX } from 'preact'
import type { Explained } from '../../services/gateway/messages.ts'
import { Badge } from '../components/badge.tsx'
import { Link } from '../state/router.ts'
import { SourceLine } from './source-line.tsx'

export interface ExplanationProps {
  readonly method: string
  readonly path: string
  /** Requested host. */
  readonly requestedHost: string
  readonly explained: Explained
}

/** Path of a request through the gateway: plugins, route, access rules and nodes. */
export function Explanation({
  method,
  path,
  requestedHost,
  explained,
}: ExplanationProps): JSX.Element {
  const { stages, namespace, account, route, target, host, rulings, nodes, sent_to } = explained
  const settings = Object.entries(explained.settings ?? {})
  return (
    <section class="card" aria-label="Explanation">
      <h2 class="mono">
        {method} {path}
      </h2>
      <Outcome explained={explained} />
      <dl class="facts">
        <dt>Stages</dt>
        <dd>
          <ol class="stages">
            {stages.map(({ plugin, hook, scope, source }, i) => (
              <li key={i}>
                <Badge tone={i === stages.length - 1 ? 'accent' : 'neutral'}>
                  {plugin === '' ? hook : `${plugin} ${hook}`}
                  {scope === '' || scope === 'gateway' ? '' : ` (${scope})`}
                </Badge>{' '}
                {source !== '' && <SourceLine source={source} />}
              </li>
            ))}
          </ol>
        </dd>
        <Fact title="Caller">{account || 'anonymous'}</Fact>
        <Fact title="Namespace">{namespace || 'none'}</Fact>
        <Fact title="Route">
          {route === undefined ? (
            'no match'
          ) : (
            <>
              <Link to={`/services/${encodeURIComponent(route.service)}`}>{route.service}</Link>{' '}
              {route.endpoint}
              {route.name !== undefined && ` by route ${route.name}`}
              {route.variables.map(({ name, value }) => (
                <code key={name}>
                  {' '}
                  {name}={value}
                </code>
              ))}
            </>
          )}
        </Fact>
        {route !== undefined && (target !== path || host !== requestedHost) && (
          <Fact title="Forwarded as">
            <code>{target}</code> at <code>{host}</code>
          </Fact>
        )}
        {rulings.map(({ resource, granted, rule, namespace }) => (
          <Fact key={`${namespace} ${resource}`} title="Access rule">
            <Badge tone={granted ? 'good' : 'bad'}>{granted ? 'granted' : 'denied'}</Badge>{' '}
            {rule === '' ? 'no matching rule' : `by rule ${rule}`} in {namespace} for{' '}
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
                  {draining && ', draining'}){' '}
                  {id === sent_to && <Badge tone="good">selected</Badge>}
                </li>
              ))}
            </ul>
          </Fact>
        )}
        {settings.length > 0 && (
          <Fact title="Settings">
            {settings.map(([name, value]) => `${name} ${value}`).join(', ')}
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
        <Badge tone="good">{sent_to === 'topic' ? 'published' : 'forwarded'}</Badge> to{' '}
        {sent_to === 'topic' && 'topic '}
        {route?.service}
      </p>
    )
  return (
    <>
      <p>
        <Badge tone={answer.status >= 400 ? 'bad' : 'accent'}>{answer.status}</Badge>{' '}
        {answer.detail || 'sent by the gateway'}
      </p>
      {why !== '' && <p class="explain-why">{why}</p>}
    </>
  )
}
