import type { JSX } from 'preact'

/** Position in a configuration file, without its folder. */
export function SourceLine({ source }: { readonly source: string }): JSX.Element {
  return (
    <small class="muted" title={source}>
      {source.replace(/^.*\//, '')}
    </small>
  )
}
