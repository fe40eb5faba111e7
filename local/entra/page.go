package entra

import (
	"crypto/rand"
	_ "embed"
	"html/template"
	"net/http"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

const csrfCookie cookieName = "csrf"

// pageView is the page's content: the field for the code, the question for a
// known code, or the outcome.
type pageView struct {
	Title    string // empty: that of a device
	Message  string
	Problem  string
	Code     string // of a device
	App      string
	Users    []User
	Chosen   int // among the users
	Token    string
	Action   string // where the form goes to sign in to a page
	Redirect string // the origin that the answer to the form leads to
}

// approvalPage serves the page on which a person enters the code that their
// device shows. A decision counts only when it comes from the page itself: no
// other origin can post here, and the form must repeat the cookie it came with.
func (s *Server) approvalPage() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /devicelogin", s.askForApproval)
	mux.HandleFunc("POST /devicelogin", s.decide)
	return http.NewCrossOriginProtection().Handler(mux)
}

func (s *Server) askForApproval(w http.ResponseWriter, r *http.Request) {
	userCode := r.URL.Query().Get("user_code")
	if userCode == "" {
		show(w, http.StatusOK, pageView{})
		return
	}
	code, err := s.devices.pending(userCode)
	if err != nil {
		show(w, http.StatusNotFound, pageView{Problem: err.Error()})
		return
	}
	tenant, _ := s.config.tenant(code.tenantID)
	client, _ := tenant.application(code.clientID)
	token := rand.Text()
	setCSRF(w, r, token)
	show(w, http.StatusOK, pageView{Code: code.user, App: client.Name, Users: tenant.Users, Token: token})
}

func (s *Server) decide(w http.ResponseWriter, r *http.Request) {
	if !fromThisPage(r) {
		show(w, http.StatusForbidden, pageView{Problem: "This form was not sent from this page. Enter the code again."})
		return
	}
	userCode, upn := r.PostFormValue("user_code"), r.PostFormValue("user")
	switch r.PostFormValue("decision") {
	case "approve":
		if err := s.ApproveDeviceCode(userCode, upn); err != nil {
			show(w, http.StatusBadRequest, pageView{Problem: err.Error()})
			return
		}
		show(w, http.StatusOK, pageView{Message: "Signed in as " + upn + ". You can close this page."})
	case "decline":
		if err := s.DeclineDeviceCode(userCode); err != nil {
			show(w, http.StatusBadRequest, pageView{Problem: err.Error()})
			return
		}
		show(w, http.StatusOK, pageView{Message: "The sign-in was declined. You can close this page."})
	default:
		show(w, http.StatusBadRequest, pageView{Problem: "Choose approve or decline."})
	}
}

func show(w http.ResponseWriter, status int, view pageView) {
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self' "+view.Redirect+"; frame-ancestors 'none'; base-uri 'none'")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = page.Execute(w, view)
}
