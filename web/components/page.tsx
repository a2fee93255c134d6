import type { ComponentChildren, JSX } from 'preact'
import { useEffect } from 'preact/hooks'

export interface PageProps {
  readonly title: string
  /** Subtitle. */
  readonly about?: ComponentChildren
  /** Controls next to the title. */
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

/** Page layout with title, subtitle and actions. */
export function Page({ title, about, actions, children }: PageProps): JSX.Element {
  useEffect(() => {
    document.title = `${title} · mx`
  }, [title])
  return (
    <div class="page">
      <header class="page-head">
        <div class="page-words">
          <h1 tabIndex={-1}>{title}</h1>
          {about !== undefined && <p class="page-about">{about}</p>}
        </div>
        {actions !== undefined && <div class="page-actions">{actions}</div>}
      </header>
      {children}
    </div>
  )
}
