import { Link } from '@tanstack/react-router';

export function NotFoundPage() {
  return (
    <div className="page-head">
      <h1>Page not found</h1>
      <p className="lead">
        <Link to="/">Go to the lab</Link>
      </p>
    </div>
  );
}
