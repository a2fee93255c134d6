import type { ComponentChildren, JSX } from 'preact'
import { useEffect } from 'preact/hooks'

export interface PageProps {
  readonly title: string
  /** One sentence below it. */
  readonly about?: ComponentChildren
  /** Buttons and fields beside the title. */
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

/** What every page stands in: its title, and what can be done with all of it. */
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
