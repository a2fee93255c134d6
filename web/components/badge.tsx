import type { ComponentChildren, JSX } from 'preact'

export type Tone = 'neutral' | 'good' | 'warning' | 'bad' | 'accent'

/** Status label. The colour carries no information beyond the text. */
export function Badge({
  tone = 'neutral',
  children,
}: {
  readonly tone?: Tone
  readonly children: ComponentChildren
}): JSX.Element {
  return <span class={`badge ${tone}`}>{children}</span>
}
