import type { JSX } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { Problem } from '../components/problem.tsx'
import { Empty } from '../components/states.tsx'
import { useAnimationFrame } from '../hooks/use-animation-frame.ts'
import { useWatch } from '../hooks/use-call.ts'
import { openStream } from '../rpc/caller.ts'
import { decodeBase64 } from '../store/base64.ts'
import { toDisplayLine } from './log-text.ts'
import { isBuilding, type RuntimeObject } from './objects.ts'
import { createTailText } from './tail-text.ts'

/** Characters that are kept in the page. */
const KEPT = 200_000

/** What the last build of a runtime object wrote, and goes on to write. */
export function BuildOutput({ object }: { readonly object: RuntimeObject }): JSX.Element {
  const { name, version } = object
  const output = useRef(createTailText(KEPT)).current
  const box = useRef<HTMLElement>(null)
  const refresh = useAnimationFrame()
  const watch = useWatch<{ readonly data: string }>(
    () => openStream('runtime', 'Build.Read', { service: { name, version } }),
    ({ data }) => {
      output.push(decodeBase64(data))
      refresh()
    },
    // Another one begins.
    [name, version, isBuilding(object)],
    { onStart: output.clear },
  )
  const text = output.text()
  useLayoutEffect(() => {
    if (box.current !== null) box.current.scrollTop = box.current.scrollHeight
  }, [text])

  if (watch.state === 'failed' && watch.error !== undefined)
    return (
      <Problem
        error={watch.error}
        asked={`the output of the build of ${name}`}
        onRetry={watch.restart}
      />
    )
  if (text === '' && watch.state === 'ended')
    return <Empty title="The last build wrote nothing, or it is not kept any more" />
  return (
    <>
      {output.isCut() && <p class="muted">The beginning is left out.</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard (WCAG 2.1.1) */}
      <section class="build-output" ref={box} tabIndex={0} aria-label="Output of the build">
        <pre>{text.split('\n').map(toDisplayLine).join('\n')}</pre>
      </section>
    </>
  )
}
