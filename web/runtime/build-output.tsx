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

/** Maximum number of retained characters. */
const MAX_CHARACTERS = 200_000

/** Live output of the last build of a runtime object. */
export function BuildOutput({ object }: { readonly object: RuntimeObject }): JSX.Element {
  const { name, version } = object
  const output = useRef(createTailText(MAX_CHARACTERS)).current
  const box = useRef<HTMLElement>(null)
  const refresh = useAnimationFrame()
  const watch = useWatch<{ readonly data: string }>(
    () => openStream('runtime', 'Build.Read', { service: { name, version } }),
    ({ data }) => {
      output.push(decodeBase64(data))
      refresh()
    },
    // A new build restarts the stream.
    [name, version, isBuilding(object)],
    { onStart: output.clear },
  )
  const text = output.text()
  useLayoutEffect(() => {
    if (box.current !== null) box.current.scrollTop = box.current.scrollHeight
  }, [text])

  if (watch.state === 'failed' && watch.error !== undefined)
    return (
      <Problem error={watch.error} subject={`build output of ${name}`} onRetry={watch.restart} />
    )
  if (text === '' && watch.state === 'ended') return <Empty title="No build output" />
  return (
    <>
      {output.isTruncated() && <p class="muted">Older output is not shown.</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable elements must be reachable by keyboard (WCAG 2.1.1) */}
      <section class="build-output" ref={box} tabIndex={0} aria-label="Build output">
        <pre>{text.split('\n').map(toDisplayLine).join('\n')}</pre>
      </section>
    </>
  )
}
