import type { ComponentChildren, JSX } from 'preact'
import { useErrorBoundary } from 'preact/hooks'
import { Page } from './page.tsx'
import { Empty } from './states.tsx'

export interface BoundaryProps {
  /** Subject of the error message, such as `The page`. */
  readonly what: string
  /** Page title; set if the boundary wraps an entire page. */
  readonly title?: string
  readonly children: ComponentChildren
}

/** Error boundary. A render error in the children is shown in place and does not affect the rest of the page. */
export function Boundary({ what, title, children }: BoundaryProps): JSX.Element {
  const [error, reset] = useErrorBoundary()
  if (error === undefined) return <>{children}</>
  const message = (
    <div role="alert" data-kind="failed">
      <Empty title={`${what} failed to render`}>
        <p>Unexpected error: {describe(error)}</p>
        <button type="button" onClick={reset}>
          Try again
        </button>
      </Empty>
    </div>
  )
  return title === undefined ? message : <Page title={title}>{message}</Page>
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
