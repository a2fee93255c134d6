import type { ComponentChildren, JSX } from 'preact'
import { useErrorBoundary } from 'preact/hooks'
import { Page } from './page.tsx'
import { Empty } from './states.tsx'

export interface BoundaryProps {
  /** What it is, such as `The page`. */
  readonly what: string
  /** Title, where it is all of a page. */
  readonly title?: string
  readonly children: ComponentChildren
}

/** Draws what is in it; where that fails it says so, and nothing else is affected. */
export function Boundary({ what, title, children }: BoundaryProps): JSX.Element {
  const [error, reset] = useErrorBoundary()
  if (error === undefined) return <>{children}</>
  const told = (
    <div role="alert" data-kind="failed">
      <Empty title={`${what} cannot be shown`}>
        <p>Something in it is not as it should be: {describe(error)}</p>
        <button type="button" onClick={reset}>
          Try again
        </button>
      </Empty>
    </div>
  )
  return title === undefined ? told : <Page title={title}>{told}</Page>
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
