import { Fragment, type JSX } from 'preact'
import type { RuntimeObject } from './objects.ts'

/** Details of a runtime object. */
export function Facts({ object }: { readonly object: RuntimeObject }): JSX.Element {
  const { name, version, source, metadata } = object
  const { source: _, ...rest } = metadata
  const facts = [
    ...Object.entries({ name, version, source: metadata['source'] || source }),
    ...Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1)),
  ]
  return (
    <dl class="facts">
      {facts.map(([key, value]) => (
        <Fragment key={key}>
          <dt>{key}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
    </dl>
  )
}
