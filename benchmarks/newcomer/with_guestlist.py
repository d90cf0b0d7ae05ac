def audit(model, members, nonmembers, out, references):
    import guestlist as gl

    results = gl.audit(model, members, nonmembers, references=references, folder=out)
    results.to_html(f"{out}/report.html")
    return results
